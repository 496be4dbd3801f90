package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/configs"
	"flotilla/configs/examples"
	"flotilla/core/api"
)

// ExampleMembers are the eight members of configs/examples/agents.
func ExampleMembers() ([]configs.Agent, error) {
	files, err := fs.Glob(examples.Files, "agents/*.yaml")
	if err != nil {
		return nil, err
	}
	var members []configs.Agent
	for _, file := range files {
		text, err := fs.ReadFile(examples.Files, file)
		if err != nil {
			return nil, err
		}
		member, err := configs.LoadAgent(file, text)
		if err != nil {
			return nil, err
		}
		members = append(members, member)
	}
	return members, nil
}

// AdmitExamples applies the MemberClusters of configs/examples/members.yaml that are not there yet, as
// any client would.
func (f *Fleet) AdmitExamples(ctx context.Context) error {
	text, err := fs.ReadFile(examples.Files, "members.yaml")
	if err != nil {
		return err
	}
	documents, err := configs.Parse("members.yaml", text)
	if err != nil {
		return err
	}
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, document := range documents {
		missing, err := f.isMissing(ctx, document.JSON)
		if err != nil {
			return err
		}
		if missing {
			request.Documents = append(request.Documents, document.JSON)
		}
	}
	if len(request.Documents) == 0 {
		return nil
	}
	if err := bus.Request(ctx, f.Client, api.VerbApply, request, nil, bus.RequestOptions{}); err != nil {
		return fmt.Errorf("admitting the members: %w", err)
	}
	return nil
}

// isMissing says that nobody admitted the member. One that only heartbeats is shown too, without a uid.
func (f *Fleet) isMissing(ctx context.Context, document json.RawMessage) (bool, error) {
	var member, shown api.MemberCluster
	if err := json.Unmarshal(document, &member); err != nil {
		return false, err
	}
	request := api.GetRequest{Kind: api.KindMemberCluster, Name: member.Name}
	err := bus.Request(ctx, f.Client, api.VerbGet, request, &shown, bus.RequestOptions{})
	var failure *api.Failure
	if errors.As(err, &failure) && failure.Code == api.CodeNotFound {
		return true, nil
	}
	return shown.UID == "", err
}
