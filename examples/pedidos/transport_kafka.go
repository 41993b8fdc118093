//go:build kafka

package main

import "github.com/idem-go/idem/examples/pedidos/demo"

const defaultTransport = "kafka"

func builder() demo.Build { return kafkaBuild }
