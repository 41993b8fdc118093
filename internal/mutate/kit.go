package mutate

// KitMutations are guards that the conformance kit must miss when they are gone,
// beside those of [Mutations] that have cases.
func KitMutations() []Mutation {
	const (
		engine  = "framework/idem/engine.go"
		record  = "framework/idem/record.go"
		settle  = "middleware/settle.go"
		breaker = "middleware/breaker.go"
		queue   = "transports/internal/queue/memqueue/group.go"
		claim   = "transports/kafka/claim.go"
	)
	return []Mutation{
		{
			Name: "early-ack", What: "a message is acknowledged before its effect is committed",
			Cases: []string{"DRAIN-03", "RETRY-03"},
			edits: []Edit{{settle, "\t\t\ta := c.Attempt(msg)\n\t\t\treturned := false\n",
				"\t\t\ta := c.Attempt(msg)\n\t\t\tif idem.Mutated(\"early-ack\") {\n\t\t\t\tmsg.Ack()\n\t\t\t}\n\t\t\treturned := false\n"}},
		},
		{
			Name: "swallow", What: "an outcome that cannot be stored is taken for stored",
			Cases: []string{"DLQ-05", "DRAIN-08"},
			edits: []Edit{{settle, "\t\tif err == nil {\n\t\t\ta.Outcome = o\n", "\t\tif err == nil || idem.Mutated(\"swallow\") {\n\t\t\ta.Outcome = o\n"}},
		},
		{
			Name: "hot-nack", What: "a nack is taken for a delay",
			Cases: []string{"RETRY-05"},
			edits: []Edit{{settle, "a.Delivery.Redeliver(after, false)", "if idem.Mutated(\"hot-nack\") {\n\t\t\tafter = 0\n\t\t}\n\t\ta.Delivery.Redeliver(after, false)"}},
		},
		{
			Name: "pause-acks", What: "a message whose bug pauses the consumer is acknowledged",
			Cases: []string{"FLOW-09"},
			edits: []Edit{{settle, "\ts.giveBack(msg, a, pauseRecheck)\n}\n\n// record makes",
				"\tif idem.Mutated(\"pause-acks\") {\n\t\tack(msg, a)\n\t\treturn\n\t}\n\ts.giveBack(msg, a, pauseRecheck)\n}\n\n// record makes"}},
		},
		{
			Name: "abandon-acks", What: "a message that was given up at shutdown is acknowledged",
			Cases: []string{"DRAIN-03"},
			edits: []Edit{{settle, "\tdefault: // Abandon\n", "\tdefault: // Abandon\n\t\tif idem.Mutated(\"abandon-acks\") {\n\t\t\tack(msg, a)\n\t\t\treturn\n\t\t}\n"}},
		},
		{
			Name: "breaker-counts", What: "a message that an open breaker turns away loses an attempt",
			Cases: []string{"RETRY-08"},
			edits: []Edit{{breaker, "\t\t\t\treturn nil, idem.DependencyDown(",
				"\t\t\t\tif idem.Mutated(\"breaker-counts\") {\n\t\t\t\t\tc.Attempt(msg).Runs++\n\t\t\t\t\treturn nil, idem.Transient(open)\n\t\t\t\t}\n\t\t\t\treturn nil, idem.DependencyDown("}},
		},
		{
			Name: "emit-lost", What: "what a handler emits is not in its transaction",
			Cases: []string{"DUP-16"},
			edits: []Edit{{engine, "len(out) > 0 {", "len(out) > 0 && !mutated(\"emit-lost\") {"}},
		},
		{
			Name: "guess", What: "a commit without an answer is taken for done",
			Cases: []string{"RETRY-11"},
			edits: []Edit{{engine, "\tctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)\n",
				"\tif mutated(\"guess\") {\n\t\treturn nil\n\t}\n\tctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)\n"}},
		},
		{
			Name: "attempts", What: "attempts are not kept from one delivery to the next",
			Cases: []string{"RETRY-02", "RETRY-03"},
			edits: []Edit{{record, "\tattempts := h.Attempts + a.Runs\n", "\tattempts := mutatedValue(\"attempts\", h.Attempts+a.Runs, 0)\n"}},
		},
		{
			Name: "no-copy", What: "a dead letter has no copy on its topic",
			Cases: []string{"DLQ-03", "DLQ-08"},
			edits: []Edit{{record, "\treturn tx.Emit(ctx, deadLetterCopy(d, c.DeadLetterTopic))\n",
				"\tif mutated(\"no-copy\") {\n\t\treturn nil\n\t}\n\treturn tx.Emit(ctx, deadLetterCopy(d, c.DeadLetterTopic))\n"}},
		},
		{
			Name: "headers", What: "what comes back has lost the user's headers",
			Cases: []string{"FIDELITY-11", "DLQ-12"},
			edits: []Edit{{record, "\th := ownHeaders{list: userHeaders(d.Envelope.Headers)}\n\tif d.Key != \"\" {",
				"\th := ownHeaders{list: mutatedValue(\"headers\", userHeaders(d.Envelope.Headers), nil)}\n\tif d.Key != \"\" {"}},
		},
		{
			Name: "unordered", What: "a queue gives out what is behind an unfinished message of its key",
			Cases: []string{"ORDER-01"},
			edits: []Edit{{queue, "\tif g.ordered != ordered {\n", "\tif os.Getenv(\"IDEM_MUTATION\") == \"unordered\" {\n\t\tordered = false\n\t}\n\tif g.ordered != ordered {\n"},
				{queue, "\t\"container/list\"\n", "\t\"container/list\"\n\t\"os\"\n"}},
		},
		{
			Name: "hole", What: "an offset is committed past an unfinished message", Pair: "TestKafkaFake",
			Cases: []string{"DRAIN-07"},
			edits: []Edit{{claim, "\tif offset, moved := c.backlog.finish(d.record); moved && !c.lost {\n",
				"\tif idem.Mutated(\"hole\") {\n\t\tc.session.MarkOffset(c.topic, c.source.Partition(), d.record.offset+1, \"\")\n\t}\n\tif offset, moved := c.backlog.finish(d.record); moved && !c.lost {\n"}},
		},
	}
}
