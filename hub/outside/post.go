package outside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"flotilla/core/api"
)

// Post is one request.
type Post struct {
	URL, ContentType string
	Headers          map[string]string
	Body             []byte
	// Most is how many bytes of the answer are read.
	Most int64
}

// Answer is what came back; Cut says that there was more of it than was to be read.
type Answer struct {
	Code   int
	Status string
	Body   []byte
	Cut    bool
}

// OK says that the answer is a success.
func (a *Answer) OK() bool { return a.Code >= 200 && a.Code < 300 }

// Client posts. It follows no redirection.
type Client struct{ http http.Client }

// NewClient returns a client.
func NewClient() *Client {
	return &Client{http: http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Post sends a request and reads the answer. An error holds no part of the URL.
func (c *Client) Post(ctx context.Context, p *Post) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(p.Body))
	if err != nil {
		return Answer{}, errors.New("making a request")
	}
	request.Header.Set("Content-Type", p.ContentType)
	request.Header.Set("User-Agent", "flotilla-hub/"+api.Version)
	for name, value := range p.Headers {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if outer := (*url.Error)(nil); errors.As(err, &outer) { // it holds the URL, which may be a secret
			err = outer.Err
		}
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, p.Most+1))
	if err != nil {
		return Answer{}, fmt.Errorf("reading the answer: %w", err)
	}
	a := Answer{Code: response.StatusCode, Status: response.Status, Body: body}
	if int64(len(body)) > p.Most {
		a.Body, a.Cut = body[:p.Most], true
	}
	return a, nil
}

// Close lets go of what is kept between two requests.
func (c *Client) Close() { c.http.CloseIdleConnections() }
