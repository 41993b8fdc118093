// Package byhand is generated from types of the model which no schema leads to
// today, though the model allows them. TestDifftest has them.
package byhand
