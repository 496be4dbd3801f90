package object

import (
	"errors"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/offline"
)

// terms are what a command asks of the objects that files are of.
type terms struct {
	// ask puts it into a request.
	ask func(*api.ApplyRequest, []offline.Document)
	// refused is the code of those that are not so, instead the command that helps then.
	refused, instead string
}

// of puts the terms into a request; nil: none.
func (t *terms) of(request *api.ApplyRequest, documents []offline.Document) {
	if t != nil {
		t.ask(request, documents)
	}
}

// explain names the command that helps where objects are not what was asked for.
func (t *terms) explain(err error, s *offline.Source) error {
	if refused, is := errors.AsType[*api.Failure](err); is && t != nil && refused.Code == t.refused && refused.Next == "" {
		refused.Next = s.Command(t.instead)
	}
	return err
}

func (a Commands) createCommand() *cobra.Command {
	creates := func(request *api.ApplyRequest, _ []offline.Document) { request.Create = true }
	return a.applies(&applyOptions{terms: &terms{ask: creates, refused: api.CodeConflict, instead: "diff"}}, &cobra.Command{
		Use:   "create -f FILE… | -k DIR",
		Short: "Create objects that do not exist yet, all of them or none",
		Long: `Create objects from files, folders or standard input, as apply does, unless one of them exists already, or is still being
deleted: then nothing is created.`,
		Example: `  flotilla create -f web.yaml
  flotilla create -f web.yaml --dry-run=server`,
	})
}

func (a Commands) replaceCommand() *cobra.Command {
	return a.applies(&applyOptions{terms: &terms{ask: replaces, refused: api.CodeNotFound, instead: "apply"}}, &cobra.Command{
		Use:   "replace -f FILE… | -k DIR",
		Short: "Put files in the place of objects that exist, all of them or none",
		Long: `Put files, folders or standard input in the place of objects, each of which has to exist. A file is the whole object: what
edit, label, scale and the like set and the file leaves out is gone afterwards, while apply keeps it. Where a file says
metadata.resourceVersion or metadata.uid, the object has to be that one still.`,
		Example: `  flotilla get placement web -o yaml > web.yaml
  flotilla replace -f web.yaml`,
	})
}

// replaces asks for the objects that documents say they were read as.
func replaces(request *api.ApplyRequest, documents []offline.Document) {
	request.Exact = true
	for i := range documents {
		read, _ := validate.Decode(documents[i].Body) // the hub tells of faults
		request.Expect = append(request.Expect, api.Expected{UID: read.UID, ResourceVersion: read.ResourceVersion})
	}
}
