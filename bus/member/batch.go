package member

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"flotilla/bus"
	"flotilla/core/api"
)

// encode is the batch of a slot as it is to be stored, and the version it is of. Where it would be too
// large, the largest results are shortened, twice as many until it fits.
func (r *results) encode(s *slot) ([]byte, uint64, error) {
	r.mu.Lock()
	version, most := s.version, r.most
	batch := api.ResultBatch{Header: api.NewHeader(api.KindResultBatch), Member: r.agent.member, Results: make([]api.BatchedResult, 0, len(s.held))}
	for id, text := range s.held {
		batch.Results = append(batch.Results, api.BatchedResult{Kind: id.kind, Name: id.name, Result: text})
	}
	r.mu.Unlock()
	slices.SortFunc(batch.Results, func(a, b api.BatchedResult) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	if len(batch.Results) == 0 {
		return nil, version, nil
	}
	text, err := packBatch(&batch, most)
	if !errors.Is(err, bus.ErrTooLarge) {
		return text, version, err
	}
	longest := make([]*api.BatchedResult, len(batch.Results))
	for i := range batch.Results {
		longest[i] = &batch.Results[i]
	}
	slices.SortStableFunc(longest, func(a, b *api.BatchedResult) int { return cmp.Compare(len(b.Result), len(a.Result)) })
	for done, n := 0, 1; errors.Is(err, bus.ErrTooLarge) && done < len(longest); n *= 2 {
		for ; done < min(n, len(longest)); done++ {
			longest[done].Shorten()
		}
		text, err = packBatch(&batch, most)
	}
	return text, version, err
}

// packBatch is a batch as it is stored.
func packBatch(batch *api.ResultBatch, most int) ([]byte, error) {
	if len(batch.Results) > bus.MaxResultsOfABatch {
		return nil, bus.Beyond("more than %d results in one slot", bus.MaxResultsOfABatch)
	}
	text, err := encodeBatch(batch)
	if err == nil {
		text, err = bus.BatchBounds.Pack(text)
	}
	if err == nil && len(text) > most {
		err = fmt.Errorf("%w: %d bytes, at most %d", bus.ErrTooLarge, len(text), most)
	}
	return text, err
}

// encodeBatch is what json.Marshal makes of a batch. Results are taken as they are, which it made already: it would read
// all of them again for the one that changed.
func encodeBatch(batch *api.ResultBatch) ([]byte, error) {
	head, err := json.Marshal(api.ResultBatch{Header: batch.Header, Member: batch.Member, Results: []api.BatchedResult{}})
	if err != nil {
		return nil, err
	}
	size := len(head)
	for i := range batch.Results {
		size += len(batch.Results[i].Result) + batchedRoom
	}
	const end = "]}"
	text := append(make([]byte, 0, size), head[:len(head)-len(end)]...)
	for i := range batch.Results {
		one := &batch.Results[i]
		front, err := json.Marshal(batchedFront{one.Kind, one.Name})
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, front[:len(front)-1]...), `,"result":`...)
		if len(one.Result) == 0 { // an earlier process stored none
			text = append(text, "null"...)
		}
		text = append(append(text, one.Result...), '}')
	}
	return append(text, end...), nil
}

// batchedFront is what a batch says of a result in front of it.
type batchedFront struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// batchedRoom is about what a batch takes for a result beside the result itself.
const batchedRoom = 128
