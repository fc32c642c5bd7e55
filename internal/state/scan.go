package state

import (
	"context"
	"iter"
)

// Scanner is a store that can be read whole without being held in memory.
type Scanner interface {
	// Scan yields what List returns, as of one revision of the store, a part at a time. After an error it yields
	// nothing more; cause ErrCompacted: the store forgot the revision meanwhile, and the reader begins again.
	Scan(ctx context.Context, prefix string) iter.Seq2[Entry, error]
}

// Scan yields all entries with the prefix, sorted by key and as of one revision: by parts where the store is a Scanner.
func Scan(ctx context.Context, s Store, prefix string) iter.Seq2[Entry, error] {
	if able, ok := s.(Scanner); ok {
		return able.Scan(ctx, prefix)
	}
	return func(yield func(Entry, error) bool) {
		entries, _, err := s.List(ctx, prefix)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// CommitAll does the writes in as many transactions as they need. When it fails, some may have been done. Use it for a
// store that is not in service yet, and for writes that may be done again. No two may touch the same key.
func CommitAll(ctx context.Context, s Store, writes iter.Seq2[Write, error]) error {
	var txn Txn
	size := 0
	for w, err := range writes {
		if err != nil {
			return err
		}
		own := Txn{Then: []Write{w}}.Size()
		if len(txn.Then) == MaxOps || size+own > MaxBytes && len(txn.Then) > 0 {
			if _, err := s.Commit(ctx, txn); err != nil {
				return err
			}
			txn.Then, size = nil, 0
		}
		txn.Then, size = append(txn.Then, w), size+own
	}
	if len(txn.Then) == 0 {
		return nil
	}
	_, err := s.Commit(ctx, txn)
	return err
}
