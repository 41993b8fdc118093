package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

func TestConfigNamesEachWrongField(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		want []string // nil is valid
	}{
		{"brokers are enough", Config{Brokers: []string{"a:1"}}, nil},
		{"zero value", Config{}, []string{"Brokers"}},
		{"everything at once", Config{
			Brokers: []string{""}, Version: "2.0.0", Partitions: -2, ReplicationFactor: -2, Window: -1, WindowBytes: -1,
			MaxMessageBytes: -1, SessionTimeout: -1, RebalanceTimeout: time.Millisecond, CloseTimeout: -1, Password: "p",
		}, []string{
			"Brokers[0]", "Version", "Partitions", "ReplicationFactor", "Window ", "WindowBytes",
			"MaxMessageBytes", "SessionTimeout", "RebalanceTimeout", "CloseTimeout", "Username",
		}},
		{"not a version", Config{Brokers: []string{"a:1"}, Version: "four"}, []string{"Version"}},
		{"old broker without topic defaults", Config{Brokers: []string{"a:1"}, Version: "2.1.0", CreateTopics: true}, []string{"Partitions"}},
		{"bad tune", Config{Brokers: []string{"a:1"}, Tune: func(s *sarama.Config) { s.Net.DialTimeout = 0 }}, []string{"after Tune"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(tc.cfg)
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("New: %v", err)
			}
			for _, field := range tc.want {
				if !strings.Contains(err.Error(), field) {
					t.Errorf("%q is not named in: %v", field, err)
				}
			}
		})
	}
}

func TestConfigDoesNotShowThePassword(t *testing.T) {
	_, err := New(Config{Password: "hunter2"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("New: %v", err)
	}
}
