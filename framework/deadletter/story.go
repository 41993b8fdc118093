package deadletter

import (
	"context"

	"github.com/idem-go/idem/framework/idem"
)

// Story is everything that is known of a dead letter.
type Story struct {
	idem.DeadLetter
	// Audit is what was done to it, newest first.
	Audit []idem.AuditEntry
	// Others are the dead letters of the same consumer and key, oldest first,
	// this one included: one for each time it failed for good.
	Others []idem.DeadLetter
	// Record is what the consumer remembers of the key; nil if nothing.
	Record *idem.FoundRecord
	// Refused says why it cannot be replayed; nil if it can.
	Refused error
}

// Show returns a dead letter with its story, or [idem.ErrNotFound].
func (s *Service) Show(ctx context.Context, id string) (Story, error) {
	var story Story
	var err error
	if story.DeadLetter, err = s.store.GetDeadLetter(ctx, id); err != nil {
		return story, err
	}
	if story.Audit, err = s.store.ListAudit(ctx, idem.AuditQuery{DeadLetter: id}); err != nil || story.Key == "" {
		return story, err
	}
	if story.Others, err = s.store.ListDeadLetters(ctx, idem.DeadLetterQuery{Consumer: story.Consumer, Key: story.Key}); err != nil {
		return story, err
	}
	records, err := s.store.FindRecords(ctx, story.Key)
	if err != nil {
		return story, err
	}
	for _, r := range records {
		if r.Consumer == story.Consumer {
			story.Record = &r
			story.Refused = refusal(story.DeadLetter, r.Record)
		}
	}
	return story, nil
}
