package bustest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flotilla/bus/store"
	"flotilla/subjects"
)

// AsStored holds the records of a table against what is stored of them, when the test ends: who shared one changed nothing in it
// since, and it is what its own JSON reads as. Records that change meanwhile are left out.
func AsStored[T any](t testing.TB, s *store.State, family subjects.Family, same func(read, held *T) bool) {
	t.Helper()
	table := store.TableOf[T](s, family)
	t.Cleanup(func() {
		for _, entry := range table.All() {
			text, revision, found := s.Raw(table.Key(entry.Name))
			if !found || revision != entry.Revision {
				continue
			}
			held, err := json.Marshal(&entry.Value)
			require.NoError(t, err)
			assert.JSONEq(t, string(text), string(held), "%s was changed after it was written", table.Key(entry.Name))
			var read T
			require.NoError(t, json.Unmarshal(text, &read))
			assert.True(t, same(&read, &entry.Value), "%s reads as %+v, and is held as %+v", table.Key(entry.Name), read, entry.Value)
		}
	})
}
