package deadletter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/idem-go/idem/framework/idem"
)

// Work is what a job does to each dead letter.
type Work string

// The kinds of work.
const (
	WorkReplay    Work = "replay"
	WorkDiscard   Work = "discard"
	WorkTransform Work = "transform"
)

// Order is what a job is to do.
type Order struct {
	Work Work `json:"work"`
	// Query selects the dead letters. Only parked ones are worked on, whatever
	// its State is, and only those that are stored when the job begins.
	Query idem.DeadLetterQuery `json:"query"`
	// By is who gave the order, and why.
	By By `json:"by"`
	// PerSecond bounds the dead letters per second. 0 means 50, negative no bound.
	PerSecond float64 `json:"perSecond,omitempty"`
	// AssumeNotApplied is that of [ReplayOptions].
	AssumeNotApplied bool `json:"assumeNotApplied,omitempty"`
	// Change is what WorkTransform does.
	Change Change `json:"change,omitzero"`
}

// The states of a job.
const (
	JobRunning   = "running" // or waiting for somebody to continue it
	JobDone      = "done"
	JobCancelled = "cancelled"
)

// Progress is how far a job has come.
type Progress struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Order Order  `json:"order"`
	// Total is how many matched at the beginning. Done, Refused and Failed
	// count those that were worked on, that may not be (a completed key, not
	// parked any more), and that went wrong.
	Total   int `json:"total"`
	Done    int `json:"done"`
	Refused int `json:"refused"`
	Failed  int `json:"failed"`
	// Problems are the first refusals and failures, by dead letter.
	Problems []Problem `json:"problems,omitempty"`
	// At is the last dead letter that was worked on, Through the last one to be.
	At        string    `json:"at,omitempty"`
	Through   string    `json:"through,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`

	version int64
}

// Problem is why a dead letter was left as it is.
type Problem struct {
	DeadLetter string `json:"deadLetter"`
	Error      string `json:"error"`
}

// maxProblems bounds what a job remembers of them.
const maxProblems = 20

// Start stores a job. Nothing is done before [Service.Continue].
func (s *Service) Start(ctx context.Context, o Order) (Progress, error) {
	switch o.Work {
	case WorkReplay, WorkDiscard:
	case WorkTransform:
		if _, err := s.compile(o.Change); err != nil {
			return Progress{}, err
		}
	default:
		return Progress{}, fmt.Errorf("deadletter: unknown work %q: use %s, %s or %s", o.Work, WorkReplay, WorkDiscard, WorkTransform)
	}
	o.Query.State, o.Query.Newest, o.Query.After, o.Query.Through = idem.DeadLetterParked, false, "", ""
	p := Progress{ID: strings.ToLower(rand.Text()[:12]), State: JobRunning, Order: o}
	var err error
	if p.Total, err = s.store.CountMatching(ctx, o.Query); err != nil {
		return p, err
	}
	last := o.Query
	last.Newest, last.Limit = true, 1
	page, err := s.store.ListDeadLetters(ctx, last)
	if err != nil {
		return p, err
	}
	if len(page) == 0 {
		p.State = JobDone
	} else { // what fails again while the job runs is not for it
		p.Through = page[0].ID
	}
	err = s.store.Do(ctx, func(tx idem.Tx) error {
		e := o.By.entry(ActionJob, idem.DeadLetter{Consumer: o.Query.Consumer}, fmt.Sprintf("%s of %d dead letters, job %s", o.Work, p.Total, p.ID))
		return errors.Join(s.store.Audit(ctx, tx, e), s.save(ctx, tx, &p))
	})
	return p, err
}

// save stores the progress as the next version.
func (s *Service) save(ctx context.Context, tx idem.Tx, p *Progress) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("deadletter: job %s: %w", p.ID, err)
	}
	return s.store.SaveJob(ctx, tx, idem.Job{ID: p.ID, Version: p.version + 1, State: p.State, Body: body})
}

// Job returns how far a job has come, or [idem.ErrNotFound].
func (s *Service) Job(ctx context.Context, id string) (Progress, error) {
	j, err := s.store.GetJob(ctx, id)
	if err != nil {
		return Progress{}, err
	}
	return progressOf(j)
}

// Jobs returns at most limit jobs, newest first. 0 means 100.
func (s *Service) Jobs(ctx context.Context, limit int) ([]Progress, error) {
	jobs, err := s.store.ListJobs(ctx, limit)
	if err != nil {
		return nil, err
	}
	list := make([]Progress, len(jobs))
	for i, j := range jobs {
		if list[i], err = progressOf(j); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func progressOf(j idem.Job) (Progress, error) {
	var p Progress
	if err := json.Unmarshal(j.Body, &p); err != nil {
		return p, fmt.Errorf("deadletter: job %s is damaged: %w", j.ID, err)
	}
	p.version, p.StartedAt, p.UpdatedAt = j.Version, j.StartedAt, j.UpdatedAt
	return p, nil
}

// Cancel ends a job that is running; what it has done stays done.
func (s *Service) Cancel(ctx context.Context, id string, by By) error {
	for { // whoever runs it may be faster
		p, err := s.Job(ctx, id)
		if err != nil {
			return err
		}
		if p.State != JobRunning {
			return fmt.Errorf("deadletter: job %s is %s", id, p.State)
		}
		p.State = JobCancelled
		err = s.store.Do(ctx, func(tx idem.Tx) error {
			return errors.Join(s.store.Audit(ctx, tx, by.entry(ActionCancel, idem.DeadLetter{}, "job "+id)), s.save(ctx, tx, &p))
		})
		if !errors.Is(err, idem.ErrJobMoved) {
			return err
		}
	}
}

// Continue works on a job until it is done, cancelled or ctx ends, and tells of
// each step. Each dead letter and the job's place are one transaction: after a
// crash, Continue goes on where it stopped and nothing is done twice. Of two
// that continue a job at once, one goes on and the other gets [idem.ErrJobMoved].
func (s *Service) Continue(ctx context.Context, id string, report func(Progress)) (Progress, error) {
	p, err := s.Job(ctx, id)
	if err != nil {
		return p, err
	}
	act, err := s.actor(p.Order)
	if err != nil {
		return p, err
	}
	pace := rate.NewLimiter(rate.Inf, 1)
	switch per := p.Order.PerSecond; {
	case per == 0:
		pace.SetLimit(50)
	case per > 0:
		pace.SetLimit(rate.Limit(per))
	}
	for p.State == JobRunning {
		q := p.Order.Query
		q.After, q.Through = p.At, p.Through
		page, err := s.store.ListDeadLetters(ctx, q)
		if err != nil {
			return p, err
		}
		for _, d := range page {
			if err := pace.Wait(ctx); err != nil {
				return p, fmt.Errorf("deadletter: job %s stopped after %s: continue it with its id: %w", id, p.At, err)
			}
			if p, err = s.step(ctx, p, d, act); err != nil {
				return p, err
			}
			if report != nil {
				report(p)
			}
		}
		if len(page) == 0 {
			p.State = JobDone
			if err := s.store.Do(ctx, func(tx idem.Tx) error { return s.save(ctx, tx, &p) }); err != nil {
				return p, s.ended(ctx, &p, err)
			}
			p.version++
		}
	}
	return p, nil
}

// action does a job's work on one dead letter.
type action func(ctx context.Context, tx idem.Tx, d idem.DeadLetter) error

func (s *Service) actor(o Order) (action, error) {
	by := o.By
	switch o.Work {
	case WorkDiscard:
		return func(ctx context.Context, tx idem.Tx, d idem.DeadLetter) error { return s.discard(ctx, tx, d.ID, by) }, nil
	case WorkTransform:
		apply, err := s.compile(o.Change)
		return func(ctx context.Context, tx idem.Tx, d idem.DeadLetter) error {
			_, err := s.transform(ctx, tx, d.ID, apply, o.Change.what(), by)
			return err
		}, err
	default:
		ro := ReplayOptions{AssumeNotApplied: o.AssumeNotApplied, By: by}
		return func(ctx context.Context, tx idem.Tx, d idem.DeadLetter) error { return s.replay(ctx, tx, d, ro) }, nil
	}
}

// step works on one dead letter. What is refused or fails is counted in a
// transaction of its own, since its work was rolled back.
func (s *Service) step(ctx context.Context, p Progress, d idem.DeadLetter, act action) (Progress, error) {
	next := p
	next.At = d.ID
	next.Done++
	err := s.store.Do(ctx, func(tx idem.Tx) error {
		if err := act(ctx, tx, d); err != nil {
			return err
		}
		return s.save(ctx, tx, &next)
	})
	switch {
	case err == nil:
		next.version++
		return next, nil
	case errors.Is(err, idem.ErrJobMoved):
		return p, s.ended(ctx, &p, err)
	case errors.Is(err, idem.ErrStore), ctx.Err() != nil:
		return p, fmt.Errorf("deadletter: job %s stopped at %s: continue it with its id: %w", p.ID, d.ID, err)
	case errors.Is(err, idem.ErrAlreadyDone), errors.Is(err, ErrNotParked):
		next.Refused++
	default:
		next.Failed++
	}
	next.Done--
	if len(next.Problems) < maxProblems {
		next.Problems = append(next.Problems[:len(next.Problems):len(next.Problems)], Problem{DeadLetter: d.ID, Error: idem.Summary(err)})
	}
	if err := s.store.Do(ctx, func(tx idem.Tx) error { return s.save(ctx, tx, &next) }); err != nil {
		return p, s.ended(ctx, &p, err)
	}
	next.version++
	return next, nil
}

// ended says what became of a job that somebody else has moved.
func (s *Service) ended(ctx context.Context, p *Progress, err error) error {
	if !errors.Is(err, idem.ErrJobMoved) {
		return err
	}
	now, readErr := s.Job(ctx, p.ID)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	if now.State == JobCancelled {
		*p = now
		return fmt.Errorf("deadletter: job %s was cancelled", p.ID)
	}
	return err
}
