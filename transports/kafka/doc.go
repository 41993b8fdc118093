// Package kafka is idem's transport for Apache Kafka.
//
// It stands on watermill-kafka, whose publisher and subscriber run the
// connections and the consumer group. What a message goes through in between
// is ours: inside a partition messages are dispatched in parallel and, when
// asked for, in order by key; offsets are committed only up to the lowest
// unfinished message; a message that failed waits without blocking others; and
// a partition that is taken away stops at once.
//
// Kafka has no acknowledgement of a single message. A process that dies has
// the unfinished messages delivered again, and with them the finished ones
// that lie above the lowest unfinished; the engine recognises those.
package kafka
