//go:build memory

package main

import "github.com/idem-go/idem/examples/pedidos/demo"

const tagged = "memory"

func builder() demo.Build { return memoryBuild() }
