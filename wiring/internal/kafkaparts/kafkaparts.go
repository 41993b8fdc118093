// Package kafkaparts makes the Kafka transport from a configuration.
package kafkaparts

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/IBM/sarama"
	"github.com/google/wire"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/transports/kafka"
	"github.com/idem-go/idem/wiring"
)

// Set provides the transport.
var Set = wire.NewSet(NewTransport, wire.Bind(new(idem.Transport), new(*kafka.Transport)))

// NewTransport makes the transport.
func NewTransport(cfg idem.Config, log *slog.Logger) (*kafka.Transport, func(), error) {
	if err := wiring.WantTransport(cfg, "kafka"); err != nil {
		return nil, nil, err
	}
	k := cfg.Kafka
	kc := kafka.Config{
		Brokers: k.Brokers, Version: k.Version, ClientID: k.ClientID, CreateTopics: k.CreateTopics,
		Partitions: int32(k.Partitions), ReplicationFactor: int16(k.ReplicationFactor), Window: k.Window,
		SessionTimeout: k.SessionTimeout, Logger: log,
	}
	if k.TLS.Enabled {
		kc.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		if k.TLS.CAFile != "" {
			pem, err := os.ReadFile(k.TLS.CAFile)
			if err != nil {
				return nil, nil, fmt.Errorf("wiring: kafka.tls.caFile: %w", err)
			}
			kc.TLS.RootCAs = x509.NewCertPool()
			if !kc.TLS.RootCAs.AppendCertsFromPEM(pem) {
				return nil, nil, errors.New("wiring: kafka.tls.caFile: has no PEM certificate")
			}
		}
	}
	if k.SASL.User != "" {
		kc.Username, kc.Password = k.SASL.User, string(k.SASL.Password)
		kc.Tune = mechanism(cmp.Or(k.SASL.Mechanism, sarama.SASLTypePlaintext))
	}
	t, err := kafka.New(kc)
	if err != nil {
		return nil, nil, err
	}
	return t, wiring.CloseFunc("transport", log, t.Close), nil
}

// mechanism switches from PLAIN, the transport's own, to SCRAM.
func mechanism(name string) func(*sarama.Config) {
	hash, ok := hashes[name]
	if !ok {
		return nil
	}
	return func(c *sarama.Config) {
		c.Net.SASL.Mechanism = sarama.SASLMechanism(name)
		c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{hash: hash} }
	}
}
