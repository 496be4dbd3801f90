package bus

import (
	"context"
	"time"

	"flotilla/bus/places"
	"flotilla/core/api"
)

// stopPatience is for how long Stop waits for requests that run. It is shorter than what is left of a lease in danger, so
// that a hub whose requests do not end competes again in time.
const stopPatience = 3 * time.Second

// Stop takes no new request, answers those that run, and returns. It waits three seconds for them: what they would
// write after that is refused, as the writes of any hub are that leads no more.
func (s *Service) Stop() {
	if err := s.micro.Stop(); err != nil {
		s.conn.Log.Warn().Err(err).Msg("stopping the service")
	}
	s.stopForwards()
	if left := s.serving.Close(stopPatience); left > 0 {
		s.conn.Log.Warn().Int("requests", left).Dur("waited", stopPatience).Msg("the service has stopped, and waits for requests no longer")
	}
}

func notLeading() error {
	return &api.Failure{Code: api.CodeUnavailable, Message: "this hub does not lead any more: ask again"}
}

// ended is the error of a request. Where the service ended its context, it is a reason to ask again.
func ended(ctx context.Context, err error) error {
	if places.Ended(ctx, err) {
		return notLeading()
	}
	return err
}
