package streams_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestLayoutIsMadeOnceAndCompared(t *testing.T) {
	server := bustest.Start(t)
	c := server.Hub(t)
	_, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{Unmanaged: true})
	require.ErrorIs(t, err, bus.ErrNotFound)
	require.ErrorContains(t, err, "KV_flotilla_test_state")
	require.ErrorContains(t, err, "--manage-streams")

	report, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	require.Len(t, report.Made, len(subjects.Assets()))
	require.Equal(t, streams.LayoutStep(), report.Step)
	again, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	require.Equal(t, streams.LayoutReport{Step: report.Step, Sizes: report.Sizes}, again)
}

// Somebody edits a stream with another tool. What is theirs to choose stays and is reported; what is
// ours alone is put right; their metadata stays.
func TestLayoutIsNotRewritten(t *testing.T) {
	server := bustest.Start(t)
	c := server.Hub(t)
	_, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	name := c.Fleet.Stream(subjects.Commands)
	stream, err := c.JS.Stream(t.Context(), name)
	require.NoError(t, err)
	edited := stream.CachedInfo().Config
	edited.MaxBytes = 5 << 20
	edited.Description = "mine"
	edited.RePublish, edited.Subjects = nil, []string{c.Fleet.Prefix() + ".command.*.*"}
	edited.Metadata["team"] = "blue"
	_, err = c.JS.UpdateStream(t.Context(), edited)
	require.NoError(t, err)

	report, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{Unmanaged: true})
	require.NoError(t, err)
	require.Empty(t, report.Updated, "unmanaged: nothing is applied")
	for i, field := range []string{"max_bytes", "republish", "subjects"} {
		require.Equal(t, field, report.Differences[i].Field, "and all that matters is told")
	}
	report, err = streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{})
	require.NoError(t, err)
	require.Equal(t, []streams.Difference{{Stream: name, Field: "max_bytes", Found: "5242880", Wanted: "2147483648"}}, report.Differences)
	require.Equal(t, []string{name + ": description", name + ": republish", name + ": subjects"}, report.Updated)
	stream, err = c.JS.Stream(t.Context(), name)
	require.NoError(t, err)
	found := stream.CachedInfo().Config
	require.EqualValues(t, 5<<20, found.MaxBytes)
	require.Equal(t, "blue", found.Metadata["team"])
	require.NotEqual(t, "mine", found.Description)
	require.NotNil(t, found.RePublish)
	require.Equal(t, []string{c.Fleet.AllCommands()}, found.Subjects)
}

func TestStreamsAreDescribedAndBounded(t *testing.T) {
	server := bustest.Start(t, func(o *server.Options) { o.Durability = streams.DurabilityAlways })
	c := server.Hub(t)
	_, err := streams.EnsureLayout(bustest.Context(t), c, streams.LayoutOptions{Durability: streams.DurabilityAlways})
	require.NoError(t, err)
	streams := c.JS.ListStreams(t.Context())
	n := 0
	for info := range streams.Info() {
		n++
		require.NotEmpty(t, info.Config.Description, info.Config.Name)
		require.Positive(t, info.Config.MaxBytes, info.Config.Name)
		require.Positive(t, info.Config.MaxMsgSize, info.Config.Name)
		require.False(t, info.Config.AllowRollup, info.Config.Name)
		require.False(t, info.Config.AllowMsgSchedules, info.Config.Name)
		byAgentsOrAudit := !strings.HasSuffix(info.Config.Name, "state") && !strings.HasSuffix(info.Config.Name, "lease") && !strings.HasSuffix(info.Config.Name, "census") &&
			!strings.HasSuffix(info.Config.Name, "content") && info.Config.Name != c.Fleet.Stream(subjects.Commands)
		require.Equal(t, byAgentsOrAudit, info.Config.PersistMode == jetstream.AsyncPersistMode, info.Config.Name)
	}
	require.NoError(t, streams.Err())
	require.Equal(t, len(subjects.Assets()), n)
}

// A hub beside an older one that leads is ready without the streams that it would make itself.
func TestStreamsOfANewerHubAreNotMissed(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	c := server.Hub(t)
	ctx := bustest.Context(t)
	require.NoError(t, streams.LayoutThere(ctx, c))
	require.NoError(t, c.JS.DeleteStream(ctx, c.Fleet.Stream(subjects.Acts)))
	require.ErrorContains(t, streams.LayoutThere(ctx, c), c.Fleet.Stream(subjects.Acts))
	older, err := json.Marshal(api.Layout{Header: api.NewHeader(api.KindLayout), Step: streams.LayoutStep() - 1})
	require.NoError(t, err)
	_, err = c.JS.Publish(ctx, c.Fleet.BucketSubject(subjects.State, subjects.LayoutKey), older)
	require.NoError(t, err)
	require.NoError(t, streams.LayoutThere(ctx, c))
	require.NoError(t, c.JS.DeleteStream(ctx, c.Fleet.Stream(subjects.Audit)))
	require.ErrorContains(t, streams.LayoutThere(ctx, c), c.Fleet.Stream(subjects.Audit))
}

// The audit stream reaches back as far as docs/notifications.md says, and what people did as far as docs/trace.md.
func TestTheAuditStreamKeepsNinetyDaysOrAGibibyte(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	c := server.Hub(t)
	stream, err := c.JS.Stream(bustest.Context(t), c.Fleet.Stream(subjects.Audit))
	require.NoError(t, err)
	require.Equal(t, 90*24*time.Hour, stream.CachedInfo().Config.MaxAge)
	require.EqualValues(t, 1<<30, stream.CachedInfo().Config.MaxBytes)
	stream, err = c.JS.Stream(bustest.Context(t), c.Fleet.Stream(subjects.Acts))
	require.NoError(t, err)
	require.Equal(t, 366*24*time.Hour, stream.CachedInfo().Config.MaxAge)
	require.EqualValues(t, 512<<20, stream.CachedInfo().Config.MaxBytes)
}
