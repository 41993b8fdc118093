// Package conformance is a kit that proves the guarantees of idem on a transport
// and a store, whoever wrote them. It does to an application what brokers,
// databases and machines do — deliver twice, out of turn, to two processes at
// once, lose an acknowledgement, break a commit — and counts the effects in a
// business table: once each, or the case fails.
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{
//			Name: "dir",
//			New: func(t testing.TB) conformance.Place {
//				dir := t.TempDir()
//				return conformance.Place{Open: func(t testing.TB) conformance.Process {
//					return conformance.Process{Transport: dirtransport.New(dir)}
//				}}
//			},
//		})
//	}
//
// What a transport cannot do, it says in its [idem.Capabilities]; a case that
// needs it is then skipped, by that name. What only a harness can do, such as
// cutting connections, is in [Faults]. [Cases] lists what is proved, under ids
// that stay; docs/conformance.md shows them and says how to read the results.
// [RunStore] does the same for a store, with [StoreCases]. With IDEM_CONFORMANCE_REPORT set to a directory, [Run] writes what
// was done and seen there, one JSON file for each harness.
//
// The kit reaches no client of a broker or database. The pairs of this module
// are tested in conformance/matrix.
package conformance
