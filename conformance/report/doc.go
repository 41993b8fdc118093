// Package report is what a conformance run leaves behind: which case passed on
// which transport, what was lost or doubled when processes were killed, and
// what pipelines without idem did in the same trouble.
//
// Every run writes a [Report] of what it saw as a JSON file of its own
// ([Write]); [Read] merges the files of a folder into one, whoever wrote them and
// wherever they ran. A report is data with a published schema ([Schema]),
// a Markdown document ([Report.Markdown]) and a page that needs nothing but
// itself ([Report.HTML]).
//
// The package imports nothing of idem, so a report of any version can be read.
package report
