package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var update = flag.Bool("update", false, "write golden files of kinds that have none at this level")

// goldenKinds are the records and messages that hubs and agents of different builds exchange.
var goldenKinds = map[string]func() any{
	KindSpec:             filled[Spec],
	KindSnapshot:         filled[Snapshot],
	KindMemberRecord:     filled[MemberRecord],
	KindSchedule:         filled[Schedule],
	KindRelease:          filled[Release],
	KindRendered:         filled[Rendered],
	KindPlacementStatus:  filled[PlacementStatus],
	KindTerm:             filled[Term],
	KindLayout:           filled[Layout],
	KindLease:            filled[Lease],
	KindCensus:           filled[Census],
	KindHeartbeat:        filled[Heartbeat],
	KindPlacementCommand: filled[PlacementCommand],
	KindPlacementDelta:   filled[PlacementDelta],
	KindPlacementResult:  filled[PlacementResult],
	KindWork:             filled[Work],
	KindAudit:            filled[Audit],
	KindIdentity:         filled[Identity],
	KindFreeze:           filled[Freeze],
	KindApproval:         filled[WithdrawalApproval],
	KindSession:          filled[Session],
	KindEnrolmentRequest: filled[EnrolmentRequest],
	KindEnrolmentAnswer:  filled[EnrolmentAnswer],
}

// Every kind has a golden file of every level it was ever written at. They are kept for ever: what
// they hold must be read, field for field, by every later build.
func TestGoldenFilesAreRead(t *testing.T) {
	const dir = "testdata/golden"
	for kind, sample := range goldenKinds {
		path := filepath.Join(dir, fmt.Sprintf("%s.%d.json", kind, Level))
		if _, err := os.Stat(path); os.IsNotExist(err) && *update {
			value := sample()
			reflect.ValueOf(value).Elem().FieldByName("Header").Set(reflect.ValueOf(NewHeader(kind)))
			text, err := json.MarshalIndent(value, "", "  ")
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(path, append(text, '\n'), 0o600))
		}
		require.FileExists(t, path, "write it with: go test ./core/api -run Golden -update")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			kind, _, _ := strings.Cut(filepath.Base(path), ".")
			require.Contains(t, goldenKinds, kind, "a file of no known kind")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			into := reflect.New(reflect.TypeOf(goldenKinds[kind]()).Elem()).Interface()
			require.NoError(t, json.Unmarshal(text, into))
			var want, got any
			require.NoError(t, json.Unmarshal(text, &want))
			again, err := json.Marshal(into)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(again, &got))
			require.Empty(t, lost(kind, want, got), "what the golden file holds was not read")
		})
	}
}

// lost lists the places where got lacks or changes what want holds; got may hold more.
func lost(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			return []string{at}
		}
		var places []string
		for key, value := range want {
			places = append(places, lost(at+"."+key, value, have[key])...)
		}
		return places
	case []any:
		have, ok := got.([]any)
		if !ok || len(have) != len(want) {
			return []string{at}
		}
		var places []string
		for i := range want {
			places = append(places, lost(fmt.Sprintf("%s[%d]", at, i), want[i], have[i])...)
		}
		return places
	}
	if want != got {
		return []string{at}
	}
	return nil
}

func TestLostNamesThePlace(t *testing.T) {
	want := map[string]any{"a": []any{1.0, map[string]any{"b": "x"}}, "c": nil}
	require.Empty(t, lost("", want, map[string]any{"a": []any{1.0, map[string]any{"b": "x", "more": 1.0}}}))
	require.Equal(t, []string{".a[1].b"}, lost("", want, map[string]any{"a": []any{1.0, map[string]any{}}}))
	require.Equal(t, []string{".a"}, lost("", want, map[string]any{"a": []any{1.0}}))
}

// filled is a value of T in which nothing is zero.
func filled[T any]() any {
	v := new(T)
	fillAll(reflect.ValueOf(v).Elem())
	return v
}

func fillAll(v reflect.Value) {
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 12, 0, 0, 500, time.UTC)))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"spec":{}}`))
		return
	case []byte:
		v.SetBytes([]byte("bytes"))
		return
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromString("25%")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillAll(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillAll(key)
		fillAll(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fillAll(field)
		}
	default:
		panic("a kind of field that no record has: " + v.Kind().String())
	}
}
