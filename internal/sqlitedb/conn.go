package sqlitedb

import (
	"context"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"
)

// connector makes connections whose transactions take turns.
type connector struct {
	driver.Connector
	turn    chan struct{} // holds an element while a transaction is open
	timeout time.Duration
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	d, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := d.(driverConn)
	if !ok {
		_ = d.Close()
		return nil, fmt.Errorf("sqlitedb: %T lacks methods of database/sql/driver that idem builds on", d)
	}
	return &conn{full, c}, nil
}

// driverConn is everything that a connection of the driver can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type conn struct {
	driverConn
	c *connector
}

// Unwrap lets the driver find its own connection.
func (c *conn) Unwrap() driver.Conn { return c.driverConn }

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if opts.ReadOnly {
		return c.driverConn.BeginTx(ctx, opts)
	}
	if err := c.c.take(ctx); err != nil {
		return nil, err
	}
	t, err := c.driverConn.BeginTx(ctx, opts)
	if err != nil {
		<-c.c.turn
		return nil, err
	}
	return &tx{Tx: t, pass: sync.OnceFunc(func() { <-c.c.turn })}, nil
}

func (c *connector) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("sqlitedb: another transaction of this process was open for %v: keep transactions short, and begin none inside another", c.timeout)
	}
}

// tx passes the turn on when it ends.
type tx struct {
	driver.Tx
	pass func()
}

func (t *tx) Commit() error {
	defer t.pass()
	return t.Tx.Commit()
}

func (t *tx) Rollback() error {
	defer t.pass()
	return t.Tx.Rollback()
}
