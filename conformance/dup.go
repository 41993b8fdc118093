package conformance

import (
	"github.com/idem-go/idem/framework/idem"
)

// dupCases are about messages that come more than once.
func dupCases() []Case {
	return []Case{
		{ID: "DUP-01", Intent: "every event comes three times, to two processes: one effect each", Run: dupTwoProcesses},
		{ID: "DUP-02", Intent: "a key that one consumer has processed is new to another", Needs: []Need{NeedConsumerGroups}, Run: dupPerConsumer},
	}
}

func dupTwoProcesses(w *World) {
	a := w.Consumer(w.Operation("billing"), AddEffect).Start()
	b := w.Consumer(w.Operation("billing"), AddEffect).Start()
	all := IDs(60)
	for range 3 {
		a.Publish(all...)
	}
	a.AwaitEffects(all...)
	AwaitDuplicates(120, a, b)
	a.WantOnce(all...)
}

func dupPerConsumer(w *World) {
	var runs Tally
	a := w.App()
	for name, prefix := range map[string]string{"billing": "1", "mail": "2"} {
		w.Must(idem.Register(a.App, w.Operation(name), runTwice(a, &runs, prefix)))
	}
	a.Start()
	all := IDs(20)
	for range 3 {
		a.Publish(all...)
	}
	var both []string
	for _, id := range all {
		both = append(both, "1"+id, "2"+id)
	}
	AwaitDuplicates(2*len(both), a)
	a.AwaitEffects(both...)
	runs.WantRuns(w, 2, both...)
}
