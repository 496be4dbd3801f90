package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/subjects"
)

const (
	// devAddress is where a development hub serves its page unless told otherwise.
	devAddress = "127.0.0.1:8480"
	// devLink is for how long the link holds that a development hub prints.
	devLink = time.Hour
)

// devPage has a development hub serve a page, on which everybody on this machine may look.
func devPage(o *hubd.Options) {
	o.Page.Guest = true
	if o.Page.Address == "" {
		o.Page.Address, o.Page.AnyPort = devAddress, true
	}
}

// pageLines say where the page of a development hub is, and have a link for an operator; nothing where there is none.
func pageLines(ctx context.Context, hub *hubd.Hub) (string, error) {
	if hub.Page() == "" {
		return "", nil
	}
	lines := fmt.Sprintf("\nIn a browser, to look:\n\n  %s\n", hub.Page())
	link, err := hub.Link(ctx, api.Caller{Name: subjects.FirstPerson, Role: api.RoleOperator}, devLink)
	if failure, refused := errors.AsType[*api.Failure](err); refused && failure.Code == api.CodeNoEntry {
		return lines, nil // of the first admin, who was revoked
	}
	if err != nil {
		return "", err
	}
	return lines + fmt.Sprintf("\nAnd as an operator, once and within the hour:\n\n  %s\n", link.Link()), nil
}
