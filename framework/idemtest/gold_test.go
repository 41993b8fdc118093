package idemtest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemtest"
	"github.com/idem-go/idem/framework/idemtest/internal/toy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestACorrectHandlerPasses(t *testing.T) {
	idemtest.Gold(t, toy.NewWorld, toy.Billing(), toy.BillFixture, toy.BillHandler)
}

func TestACorrectExternalHandlerPasses(t *testing.T) {
	t.Run("that cannot be asked", func(t *testing.T) {
		idemtest.GoldExternal(t, toy.NewWorld, toy.Billing(), toy.ChargeFixture, func(c toy.Charge) idem.External[toy.Order, int] { return c })
	})
	t.Run("that can be asked, counted in the tables", func(t *testing.T) {
		idemtest.GoldExternal(t, toy.NewWorld, toy.Billing(), func(t *testing.T, w *idemtest.World) idemtest.Fixture[toy.Charge] {
			f := toy.ChargeFixture(t, w)
			f.Effect = toy.Invoices(w)
			return f
		}, asking)
	})
}

func asking(c toy.Charge) idem.External[toy.Order, int] { return toy.AskingCharge{Charge: c} }
