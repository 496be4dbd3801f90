package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Request is one that an API server answered.
type Request struct {
	User     string // who asked; of an impersonated request, whom it was made as
	Verb     string // get, list, watch, create, update, patch, delete
	Resource string // plural, with a subresource behind a slash
	Code     int    // of HTTP
	DryRun   bool   // nothing was written by it
}

// event is of audit.k8s.io/v1 what is read of it.
type event struct {
	Verb string `json:"verb"`
	URI  string `json:"requestURI"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Impersonated *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Requests are all that the API server has answered since the cluster was made, watches that go on included. The
// options of the lab must ask for it.
func (c *Cluster) Requests() ([]Request, error) {
	text, err := os.ReadFile(c.file(fileAudit))
	if err != nil {
		return nil, fmt.Errorf("reading who asked for what: %w", err)
	}
	return readAudit(text[:bytes.LastIndexByte(text, '\n')+1])
}

func readAudit(text []byte) (requests []Request, err error) {
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return requests, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading who asked for what: %w", err)
		}
		r := Request{User: e.User.Username, Verb: e.Verb, Resource: e.Object.Resource, Code: e.Response.Code, DryRun: strings.Contains(e.URI, "dryRun=All")}
		if e.Impersonated != nil {
			r.User = e.Impersonated.Username
		}
		if e.Object.Subresource != "" {
			r.Resource += "/" + e.Object.Subresource
		}
		requests = append(requests, r)
	}
}
