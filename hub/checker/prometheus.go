package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"flotilla/core/api"
)

// answer is what a server of Prometheus answers to an instant query.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// query asks a server of Prometheus. The query is a parameter of a form, never a part of the address.
func (e *endpoint) query(ctx context.Context, c *api.PrometheusCheck) verdict {
	to, err := under(e.url, "api/v1/query")
	if err != nil {
		return failed("%v", err)
	}
	body, wrong := e.post(ctx, to, "application/x-www-form-urlencoded", []byte(url.Values{"query": {c.Query}}.Encode()), maxAnswer)
	if wrong != nil {
		return *wrong
	}
	values, err := valuesOf(body)
	if err != nil {
		return failed("%s answers %v", e.host, err)
	}
	return within(values, c)
}

// valuesOf reads the values of an answer.
func valuesOf(body []byte) ([]float64, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, errors.New("what is no answer of Prometheus")
	}
	if a.Status != "success" {
		return nil, fmt.Errorf("%q: %s", a.Status, a.Error)
	}
	var pairs [][]json.RawMessage
	switch a.Data.ResultType {
	case "scalar":
		var pair []json.RawMessage
		if err := json.Unmarshal(a.Data.Result, &pair); err != nil {
			return nil, errors.New("a scalar that cannot be read")
		}
		pairs = append(pairs, pair)
	case "vector":
		var samples []struct {
			Value []json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(a.Data.Result, &samples); err != nil {
			return nil, errors.New("a vector that cannot be read")
		}
		for i := range samples {
			pairs = append(pairs, samples[i].Value)
		}
	default:
		return nil, fmt.Errorf("a %q, expected a vector or a scalar", a.Data.ResultType)
	}
	if len(pairs) == 0 {
		return nil, errors.New("an empty vector: no series matches the query")
	}
	return numbers(pairs)
}

// maxNumber is how long the text of a number is at most.
const maxNumber = 40

// numbers are the values of pairs of a time and a text.
func numbers(pairs [][]json.RawMessage) ([]float64, error) {
	out := make([]float64, 0, len(pairs))
	for _, pair := range pairs {
		var text string
		if len(pair) != 2 || json.Unmarshal(pair[1], &text) != nil || len(text) > maxNumber {
			return nil, errors.New("a value that cannot be read")
		}
		n, err := strconv.ParseFloat(text, 64) //nolint:forbidigo // a rate has more digits behind the point than an amount may
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("the value %q, which is no number", text)
		}
		out = append(out, n)
	}
	return out, nil
}

// within says whether every value is a number from min to max.
func within(values []float64, c *api.PrometheusCheck) verdict {
	shown := func(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }
	for _, v := range values {
		switch {
		case math.IsNaN(v), math.IsInf(v, 0):
			return failed("value %s is no number", shown(v))
		case c.Min != nil && v < float64(*c.Min):
			return failed("value %s is below min %s", shown(v), shown(float64(*c.Min)))
		case c.Max != nil && v > float64(*c.Max):
			return failed("value %s is above max %s", shown(v), shown(float64(*c.Max)))
		}
	}
	if len(values) == 1 {
		return verdict{passed: true, message: "value " + shown(values[0])}
	}
	return verdict{passed: true, message: fmt.Sprintf("%d values are within bounds", len(values))}
}
