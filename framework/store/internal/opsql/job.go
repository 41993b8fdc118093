package opsql

import (
	"context"
	"fmt"

	"github.com/idem-go/idem/framework/idem"
)

// SaveJob implements [idem.Operations].
func (o *Ops) SaveJob(ctx context.Context, tx idem.Tx, j idem.Job) error {
	text := `UPDATE {jobs} SET version = $2, state = $3, body = $4, updated_at = {now} WHERE id = $1 AND version = $2 - 1`
	if j.Version == 1 {
		text = `INSERT INTO {jobs} (id, version, state, body, started_at, updated_at) VALUES ($1, $2, $3, $4, {now}, {now}) ON CONFLICT DO NOTHING`
	}
	n, err := o.exec(ctx, tx, "job "+j.ID, text, j.ID, j.Version, j.State, clean(string(j.Body)))
	if err == nil && n == 0 {
		return fmt.Errorf("job %s: %w", j.ID, idem.ErrJobMoved)
	}
	return err
}

const jobSQL = `SELECT id, version, state, body, started_at, updated_at FROM {jobs}`

func scanJob(scan scanner) (j idem.Job, err error) {
	var body string
	var started, updated int64
	err = scan(&j.ID, &j.Version, &j.State, &body, &started, &updated)
	j.Body, j.StartedAt, j.UpdatedAt = []byte(body), micros(started), micros(updated)
	return j, err
}

// GetJob implements [idem.Operations].
func (o *Ops) GetJob(ctx context.Context, id string) (idem.Job, error) {
	jobs, err := collect(ctx, o, "read of a job", jobSQL+` WHERE id = $1`, scanJob, clean(id))
	if err == nil && len(jobs) == 0 {
		err = fmt.Errorf("job %q: %w", id, idem.ErrNotFound)
	}
	if err != nil {
		return idem.Job{}, err
	}
	return jobs[0], nil
}

// ListJobs implements [idem.Operations].
func (o *Ops) ListJobs(ctx context.Context, limit int) ([]idem.Job, error) {
	return collect(ctx, o, "list of jobs", jobSQL+` ORDER BY started_at DESC, id LIMIT $1`, scanJob, atMost(limit, 1000, 100))
}
