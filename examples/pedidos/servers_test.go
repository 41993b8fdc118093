package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5"

	"github.com/idem-go/idem/internal/testenv"
)

// noSchemaIsLeft checks that the demo has removed what it made in the database.
func noSchemaIsLeft(t *testing.T, dsn string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // in a cleanup t.Context has ended
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pedidos%'`)
	if err != nil {
		t.Error(err)
		return
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(left) > 0 {
		t.Errorf("schemas left in the database: %v %v", left, err)
	}
}

// deleteTopics spares the shared broker the topics of a run, which the demo
// leaves.
func deleteTopics(t *testing.T, run string) {
	t.Helper()
	brokers, real := testenv.Kafka(t)
	if !real {
		return
	}
	admin, err := sarama.NewClusterAdmin(brokers, sarama.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	topics, err := admin.ListTopics()
	if err != nil {
		t.Fatal(err)
	}
	for topic := range topics {
		if slices.Contains(strings.FieldsFunc(topic, func(r rune) bool { return r == '-' || r == '.' }), run) {
			err := admin.DeleteTopic(topic)
			if err != nil && !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
				t.Errorf("delete topic %s: %v", topic, err)
			}
		}
	}
}
