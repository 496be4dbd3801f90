package streams

import (
	"testing"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

func headed(sequence uint64, digest string, order api.Order, position string) *message {
	header := nats.Header{}
	header.Set(headerDigest, digest)
	header.Set(headerOrder, order.String())
	if position != "" {
		header.Set(bus.HeaderPosition, position)
	}
	return &message{sequence: sequence, header: header}
}

func TestTheHeadOfAnIndexIsThatOfItsNewestChange(t *testing.T) {
	order := func(generation uint64) api.Order { return api.Order{Epoch: 1, Term: 5, Generation: generation} }
	whole := headed(10, "whole", order(3), "")
	change := func(sequence uint64, number string) *message {
		return headed(sequence, "change "+number, order(sequence), "1.5.3/"+number)
	}
	leftover := headed(9, "before", order(2), "1.5.1/1")
	position := func(number int) api.IndexPosition { return api.IndexPosition{Base: order(3), Number: number} }
	for name, c := range map[string]struct {
		whole   *message
		changes []*message
		want    CommandHead
	}{
		"no change":                        {whole, nil, CommandHead{Sequence: 10, Newest: 10, Digest: "whole", Order: order(3), Position: position(0)}},
		"changes":                          {whole, []*message{change(11, "1"), change(12, "2")}, CommandHead{Sequence: 10, Newest: 12, Digest: "change 2", Order: order(12), Position: position(2)}},
		"one of the base before":           {whole, []*message{leftover}, CommandHead{Sequence: 10, Newest: 10, Digest: "whole", Order: order(3), Position: position(0)}},
		"a change, then one from before":   {whole, []*message{change(11, "1"), leftover}, CommandHead{Sequence: 10, Newest: 11, Digest: "change 1", Order: order(11), Position: position(1)}},
		"one is missing":                   {whole, []*message{change(11, "1"), nil, change(13, "3")}, CommandHead{Sequence: 10, Newest: 11, Order: order(13), Position: position(1)}},
		"the first is missing":             {whole, []*message{nil, change(12, "2")}, CommandHead{Sequence: 10, Newest: 10, Order: order(12), Position: position(0)}},
		"a change that does not belong":    {whole, []*message{change(11, "2")}, CommandHead{Sequence: 10, Newest: 10, Digest: "whole", Order: order(11), Position: position(0)}},
		"what they change is gone":         {nil, []*message{change(11, "1")}, CommandHead{Order: order(11)}},
		"the newest in a slot from before": {whole, []*message{headed(9, "before", order(20), "1.5.1/1")}, CommandHead{Sequence: 10, Newest: 10, Digest: "whole", Order: order(20), Position: position(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			found := stored{}
			at := found.of("berlin", subjects.CommandPlacement)
			at.whole = c.whole
			for slot, m := range c.changes {
				if m != nil {
					at.change(slot, m)
				}
			}
			c.want.Member, c.want.Kind = "berlin", subjects.CommandPlacement
			require.Equal(t, []CommandHead{c.want}, found.heads())
		})
	}
}
