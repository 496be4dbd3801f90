package object

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/subjects"
)

// recordKey is one key of one bucket.
type recordKey struct {
	bucket string
	key    string
}

// rawBuckets are the buckets whose keys can be named.
var rawBuckets = []string{subjects.State, subjects.Lease, subjects.Heartbeat, subjects.Result}

// getRaw prints records as the hub keeps them, unpacked, under their keys.
func (a Commands) getRaw(ctx context.Context, args []string) error {
	a.Machine = true
	keys, err := a.recordKeys(ctx, args)
	if err != nil {
		return err
	}
	records := map[string]json.RawMessage{}
	for _, k := range keys {
		value, err := a.record(ctx, k)
		if err != nil {
			return err
		}
		if value != nil {
			records[k.bucket+"/"+k.key] = value
		}
	}
	if len(records) == 0 {
		return &session.Failure{Code: session.ExitDifferent, Message: "there are no records of " + strings.Join(args, " "), Next: "nats kv ls"}
	}
	return session.PrintJSON(a.Out, records)
}

// record reads the record of a key; of a result the one of its batch.
func (a Commands) record(ctx context.Context, k recordKey) (json.RawMessage, error) {
	member, kind, name, single := subjects.ParseResultKey(k.key)
	if k.bucket != subjects.Result || !single {
		return a.stored(ctx, k.bucket, k.key)
	}
	value, err := a.stored(ctx, k.bucket, subjects.ResultSlotKey(member, subjects.ResultSlot(kind, name)))
	if err != nil || value == nil {
		return nil, err
	}
	var batch api.ResultBatch
	if err := json.Unmarshal(value, &batch); err != nil {
		return nil, err
	}
	for _, one := range batch.Results {
		if one.Kind == kind && one.Name == name {
			return one.Result, nil
		}
	}
	return nil, nil
}

// stored reads the JSON of one key of a bucket, nil when there is none.
func (a Commands) stored(ctx context.Context, bucket, key string) ([]byte, error) {
	var reply api.RawResponse
	err := a.Call(ctx, api.VerbRaw, api.RawRequest{Bucket: bucket, Key: key}, &reply)
	return reply.Value, err
}

// recordKeys reads objects (TYPE/NAME, TYPE NAME…), or keys with or without their bucket.
func (a Commands) recordKeys(ctx context.Context, args []string) ([]recordKey, error) {
	if len(args) == 0 {
		return nil, session.Usagef("name an object or a key")
	}
	if keys := plainKeys(args); keys != nil {
		return keys, nil
	}
	t, err := resource.ParseTarget(args, a.Namespace)
	if err != nil {
		return nil, err
	}
	if len(t.Kinds) > 0 {
		return nil, session.Usagef("--raw shows the records of one object: name it, TYPE/NAME")
	}
	var keys []recordKey
	for _, r := range t.Refs {
		obj, err := a.Fetch(ctx, r)
		if err != nil {
			return nil, err
		}
		keys = append(keys, keysOf(resource.RefOf(obj))...)
	}
	return keys, nil
}

// plainKeys reads "schedule.web" and "result/berlin.placement.web"; nil when one of them is something
// else.
func plainKeys(args []string) []recordKey {
	var keys []recordKey
	for _, arg := range args {
		bucket, key, found := strings.Cut(arg, "/")
		switch {
		case found && slices.Contains(rawBuckets, bucket):
			keys = append(keys, recordKey{bucket, key})
		case !found && (strings.Contains(arg, ".") || arg == subjects.TermKey || arg == subjects.LayoutKey) && !knownWord(arg):
			keys = append(keys, recordKey{subjects.State, arg})
		default:
			return nil
		}
	}
	return keys
}

func knownWord(arg string) bool {
	_, err := resource.KindByWord(arg)
	return err == nil
}

// keysOf lists the records of one object.
func keysOf(r resource.Ref) []recordKey {
	state := func(families ...subjects.Family) []recordKey {
		var keys []recordKey
		for _, f := range families {
			keys = append(keys, recordKey{subjects.State, f.Key(recordName(r))})
		}
		return keys
	}
	switch r.Kind {
	case api.KindClusterResourcePlacement, api.KindResourcePlacement:
		return state(subjects.PlacementSpecs, subjects.Schedules, subjects.Verdicts, subjects.Releases, subjects.Statuses)
	case api.KindMemberCluster:
		return append(state(subjects.MemberSpecs, subjects.Members), recordKey{subjects.Heartbeat, r.Name})
	}
	return state(subjects.ObjectSpecs)
}

// recordName is the name under which the hub keeps an object.
func recordName(r resource.Ref) string {
	switch r.Kind {
	case api.KindClusterResourcePlacement, api.KindMemberCluster:
		return r.Name
	case api.KindResourcePlacement:
		return r.Namespace + "/" + r.Name
	}
	return content.Key(r.Object())
}
