package api_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// All goes back page by page until it has as many events as are wanted, until there are no older ones, or until a hub
// says nothing of them.
func TestAllEventsAreAskedForPageByPage(t *testing.T) {
	page := func(older uint64, messages ...string) api.EventsResponse {
		answer := api.EventsResponse{Older: older}
		for _, m := range messages {
			answer.Events = append(answer.Events, api.Audit{Message: m})
		}
		return answer
	}
	for name, test := range map[string]struct {
		limit int
		pages []api.EventsResponse
		want  []string
		asked []string // the limit and the position of each request
	}{
		"history ends":        {5, []api.EventsResponse{page(40, "c", "d"), page(20), page(0, "a", "b")}, []string{"a", "b", "c", "d"}, []string{"5 0", "3 40", "3 20"}},
		"there are as many":   {3, []api.EventsResponse{page(40, "b", "c"), page(20, "a")}, []string{"a", "b", "c"}, []string{"3 0", "1 40"}},
		"nothing is found":    {3, []api.EventsResponse{page(40), page(0)}, nil, []string{"3 0", "3 40"}},
		"a hub without pages": {3, []api.EventsResponse{page(0, "a")}, []string{"a"}, []string{"3 0"}},
		"a hub that stands":   {3, []api.EventsResponse{page(40, "b"), page(40, "newest")}, []string{"b"}, []string{"3 0", "2 40"}},
		"on in what people did": {
			4,
			[]api.EventsResponse{page(40, "d"), page(api.FirstAct+9, "c"), page(api.FirstAct+4, "b"), page(0, "a")},
			[]string{"a", "b", "c", "d"},
			[]string{"4 0", "3 40", "2 4503599627370505", "1 4503599627370500"},
		},
		"a hub that goes forward": {3, []api.EventsResponse{page(api.FirstAct+4, "b"), page(40, "newest")}, []string{"b"}, []string{"3 0", "2 4503599627370500"}},
		"a hub that has more":     {3, []api.EventsResponse{page(40, "a", "b", "c", "d")}, []string{"a", "b", "c", "d"}, []string{"3 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			all, err := api.EventsRequest{Limit: test.limit, By: "anna"}.All(func(r *api.EventsRequest) (*api.EventsResponse, error) {
				require.Equal(t, "anna", r.By)
				asked = append(asked, fmt.Sprint(r.Limit, r.Before))
				return &test.pages[len(asked)-1], nil
			})
			require.NoError(t, err)
			var messages []string
			for i := range all {
				messages = append(messages, all[i].Message)
			}
			require.Equal(t, test.want, messages)
			require.Equal(t, test.asked, asked)
		})
	}
}

func TestAllEventsEndWithTheFirstError(t *testing.T) {
	away := errors.New("the hub is away")
	asked := 0
	_, err := api.EventsRequest{Limit: 3}.All(func(*api.EventsRequest) (*api.EventsResponse, error) {
		if asked++; asked == 2 {
			return nil, away
		}
		return &api.EventsResponse{Older: 40}, nil
	})
	require.ErrorIs(t, err, away)
	require.Equal(t, 2, asked)
}
