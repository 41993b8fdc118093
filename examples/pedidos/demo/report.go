package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// order is what the control server tells the workers.
type order struct {
	// Fixed: the bug in the stock handler has been mended.
	Fixed bool `json:"fixed"`
	// Resume: consumers that paused may go on.
	Resume bool `json:"resume"`
}

// report is what a worker tells the control server.
type report struct {
	Worker     string `json:"worker"`
	Deliveries int64  `json:"deliveries"`
	Duplicates int64  `json:"duplicates"`
	Retries    int64  `json:"retries"`
	Resumed    int64  `json:"resumed"`
	Paused     bool   `json:"paused"`
}

const pollEvery = 50 * time.Millisecond

// poll keeps in touch with the control server.
func (w *worker) poll(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = w.obey(ctx) // the next tick tries again
			_ = w.tell(ctx)
		}
	}
}

// obey fetches the order and carries it out.
func (w *worker) obey(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.run.Control+"/order", nil)
	if err != nil {
		return err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var o order
	if err := json.NewDecoder(resp.Body).Decode(&o); err != nil {
		return err
	}
	w.fixed.Store(o.Fixed)
	for _, c := range w.consumers {
		if o.Resume && c.Gate.Paused() != "" {
			w.resumed.Add(1)
			c.Gate.Resume()
		}
	}
	return nil
}

// tell sends the counts.
func (w *worker) tell(ctx context.Context) error {
	r := report{
		Worker: w.name, Deliveries: w.deliveries.Load(), Duplicates: w.duplicates.Load(),
		Retries: w.retries.Load(), Resumed: w.resumed.Load(),
	}
	for _, c := range w.consumers {
		r.Paused = r.Paused || c.Gate.Paused() != ""
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.run.Control+"/reports", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
