package web

import (
	"context"
	"fmt"

	"flotilla/core/api"
)

// Token makes a token for whoever asks, unless they ask too often.
func (s *Sessions) Token(ctx context.Context, request *api.TokenRequest) (*api.TokenResponse, error) {
	at, ca := s.options.Front()
	if at == "" {
		return nil, &api.Failure{Code: api.CodeRefused, Message: "this hub serves no Kubernetes API: start it with --kubernetes 127.0.0.1:6443", Next: "flotilla status"}
	}
	if err := s.paced(request.By, api.SecretOfToken, "tokens", "flotilla token"); err != nil {
		return nil, err
	}
	if found := s.count(api.SecretOfToken); found >= mostOfAll {
		return nil, &api.Failure{
			Code: api.CodeLimit, Message: fmt.Sprintf("found %d tokens, expected fewer than %d: they end within %s", found, mostOfAll, api.APITokenLife),
		}
	}
	token, ends, err := s.hand(ctx, request.By, api.SecretOfToken, api.APITokenLife)
	if err != nil {
		return nil, err
	}
	return &api.TokenResponse{Server: at, CA: ca, Token: token, Ends: ends}, nil
}
