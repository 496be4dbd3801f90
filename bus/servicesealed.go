package bus

import (
	"context"
	"fmt"

	"flotilla/core/api"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// sealedAnswer is the line of errors that tools of NATS show in place of one that is sealed.
const sealedAnswer = "the answer is sealed"

// tellKey answers VerbKey.
func (s *Service) tellKey(context.Context, api.Caller, []byte) (any, error) {
	key, err := s.curve.PublicKey()
	return &api.KeyResponse{Key: key}, err
}

// requestText is a request as it was packed, and whom the answer is sealed to: nobody where the request was not
// sealed, as those of tools of NATS.
func (s *Service) requestText(r micro.Request) (text []byte, to string, err error) {
	sender := r.Headers().Get(headerSealed)
	if sender == "" {
		return r.Data(), "", nil
	}
	text, err = s.curve.Open(r.Data(), sender)
	if err != nil {
		return nil, "", &api.Failure{
			Code: api.CodeOtherKey, Message: "the request was not sealed to the key of this hub: " + err.Error(), Next: "flotilla version",
		}
	}
	return text, sender, nil
}

// seal seals an answer to who asked, together with why there is none.
func (s *Service) seal(m *nats.Msg, to string) error {
	if to == "" {
		return nil
	}
	sealed, err := s.curve.Seal(m.Data, to)
	if err != nil {
		return fmt.Errorf("sealing the answer: %w", err)
	}
	own, err := s.curve.PublicKey()
	if err != nil {
		return err
	}
	m.Data = sealed
	m.Header.Set(headerSealed, own)
	if m.Header.Get(micro.ErrorHeader) != "" {
		m.Header.Set(micro.ErrorHeader, sealedAnswer)
	}
	return nil
}
