// Package pedidosmsg holds the messages of the orders service and the
// operations that consume them.
package pedidosmsg

import "errors"

// PedidoCriado says that a customer placed an order.
type PedidoCriado struct {
	PedidoID string `json:"pedidoId"`
	SKU      string `json:"sku"`
	// Centavos is the total in hundredths of a real.
	Centavos int64 `json:"centavos"`
}

// Validate returns every field that breaks the contract.
func (m PedidoCriado) Validate() error {
	var errs []error
	if m.PedidoID == "" {
		errs = append(errs, errors.New("pedidoId is required"))
	}
	if m.SKU == "" {
		errs = append(errs, errors.New("sku is required"))
	}
	if m.Centavos <= 0 {
		errs = append(errs, errors.New("centavos must be positive"))
	}
	return errors.Join(errs...)
}

// FaturaEmitida says that an order was invoiced and is to be charged.
type FaturaEmitida struct {
	PedidoID string `json:"pedidoId"`
	Centavos int64  `json:"centavos"`
}

// Validate returns every field that breaks the contract.
func (m FaturaEmitida) Validate() error {
	var errs []error
	if m.PedidoID == "" {
		errs = append(errs, errors.New("pedidoId is required"))
	}
	if m.Centavos <= 0 {
		errs = append(errs, errors.New("centavos must be positive"))
	}
	return errors.Join(errs...)
}
