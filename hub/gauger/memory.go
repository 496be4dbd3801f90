package gauger

import (
	"fmt"
	"strings"

	"flotilla/bus/disk"
	"flotilla/bus/streams"
	"flotilla/core/api"
)

// DefaultRecords is how many bytes of memory all records may take.
const DefaultRecords = 2 << 30

// InMemory is what is told, beside the streams, of what records take in memory.
const InMemory = "records-in-memory"

// mostKinds is how many kinds of records are named that take most.
const mostKinds = 3

// lookAtRecords is the command that shows what was told of that.
const lookAtRecords = "flotilla events stream/" + InMemory

// lessRecords is what makes room for records.
const lessRecords = "deleting some of them, or start the hub with a larger --records-limit"

// inMemory is what records take in memory, as if it were a stream.
func (g *Gauger) inMemory() streams.Use {
	all := g.store.State.Weights.All()
	return streams.Use{Short: InMemory, Name: InMemory, Bytes: all.Bytes, MostBytes: max(0, g.options.Records), Messages: int64(all.Records)}
}

// Memory is the room in memory for records at this moment, once they take so many bytes more.
func (g *Gauger) Memory(more int64) disk.Room {
	use := g.inMemory()
	room := disk.Room{
		Where: "the memory for records", Look: lookAtRecords,
		Free: max(0, use.MostBytes-use.Bytes), Total: use.MostBytes, Reserve: use.MostBytes / reserved,
	}
	if !room.Short() && room.Total > 0 && more > 0 {
		room.Where += ", with " + api.Size(more) + " for what is asked,"
		room.Free = max(0, room.Free-more)
	}
	if room.Short() {
		room.Remedy = fmt.Sprintf("%s are in use, most of it by %s: make room by %s", api.Size(use.Bytes), g.heaviest(), lessRecords)
	}
	return room
}

// heaviest are the kinds whose records take most memory, for people.
func (g *Gauger) heaviest() string {
	most := g.store.State.Weights.Most(mostKinds)
	named := make([]string, len(most))
	for i, w := range most {
		named[i] = fmt.Sprintf("%s (%s in %d)", w.Kind, api.Size(w.Bytes), w.Records)
	}
	return strings.Join(named, ", ")
}
