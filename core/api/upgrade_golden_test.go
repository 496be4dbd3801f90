package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// upgradeKinds are the records and messages around upgrades. Their golden files were made by a
// filler that stops where types contain themselves.
var upgradeKinds = map[string]func() any{
	KindRunStatus:      func() any { return &UpdateRunStatus{} },
	KindProfileStatus:  func() any { return &AutoUpgradeProfileStatus{} },
	KindUpgradeCommand: func() any { return &UpgradeCommand{} },
	KindUpgradeResult:  func() any { return &UpgradeResult{} },
	KindInventory:      func() any { return &MemberInventory{} },
	KindLock:           func() any { return &MemberLock{} },
}

func init() { maps.Copy(goldenKinds, upgradeKinds) }

// TestGoldenUpgradeMessages decodes one full example of each record and message of level 1, which must
// stay readable for ever, and finds every field of today's type in it.
func TestGoldenUpgradeMessages(t *testing.T) {
	for kind, sample := range upgradeKinds {
		into := sample()
		t.Run(kind, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "golden", kind+".1.json"))
			require.NoError(t, err)
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(into))
			again, err := json.Marshal(into)
			require.NoError(t, err)
			require.JSONEq(t, string(text), string(again))
			requireFull(t, kind, reflect.ValueOf(into))
		})
	}
}

// requireFull finds no field without a value.
func requireFull(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		require.False(t, v.IsNil(), "%s has no value in the golden file", path)
		requireFull(t, path, v.Elem())
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[UpdateRunStatus]().PkgPath() {
			require.False(t, v.IsZero(), "%s has no value in the golden file", path)
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "Details" && path != KindRunStatus+".Status.Error" {
				continue // details of details end somewhere
			}
			requireFull(t, path+"."+name, v.Field(i))
		}
	case reflect.Slice:
		require.NotZero(t, v.Len(), "%s has no value in the golden file", path)
		requireFull(t, path, v.Index(0))
	case reflect.Bool:
		require.True(t, v.Bool(), "%s is not set in the golden file", path)
	default:
		require.False(t, v.IsZero(), "%s has no value in the golden file", path)
	}
}
