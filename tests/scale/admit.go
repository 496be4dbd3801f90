package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"flotilla/core/api"
)

// enrolling is how many tokens are asked for at once, admitted how many members one request admits.
const (
	enrolling = 8
	admitted  = 100
)

func (f *fleet) admit(ctx context.Context) error {
	for from := 0; from < f.members; from += admitted {
		var documents []json.RawMessage
		for i := from; i < min(from+admitted, f.members); i++ {
			documents = append(documents, member(i))
		}
		if err := f.apply(ctx, fmt.Sprintf("admit-%d", from), documents); err != nil {
			return fmt.Errorf("admitting members: %w", err)
		}
	}
	return nil
}

// startAgents makes a token for every member and spreads them over the processes.
func (f *fleet) startAgents(ctx context.Context) error {
	tokens, err := f.tokens(ctx)
	if err != nil {
		return fmt.Errorf("making tokens: %w", err)
	}
	var starting sync.WaitGroup
	faults := make([]error, len(f.agents))
	for k, agents := range f.agents {
		var theirs []newcomer
		for i := k; i < f.members; i += len(f.agents) {
			theirs = append(theirs, newcomer{memberName(i), tokens[i]})
		}
		starting.Go(func() {
			var started int
			faults[k] = agents.ask(ctx, "/start", theirs, &started)
		})
	}
	starting.Wait()
	return errors.Join(faults...)
}

func (f *fleet) tokens(ctx context.Context) ([]string, error) {
	tokens := make([]string, f.members)
	faults := make([]error, enrolling)
	var asking sync.WaitGroup
	for k := range enrolling {
		asking.Go(func() {
			for i := k; i < f.members && faults[k] == nil; i += enrolling {
				var answer api.EnrolResponse
				faults[k] = f.request(ctx, api.VerbEnrol, api.EnrolRequest{Name: memberName(i)}, &answer)
				tokens[i] = answer.Token.String()
			}
		})
	}
	asking.Wait()
	return tokens, errors.Join(faults...)
}
