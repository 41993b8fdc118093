package idem

// GeneratedV1 is what generated code of the first version refers to. A release
// that such code would not work with has no GeneratedV1, so that building says
// so: generate the code again.
const GeneratedV1 = 1
