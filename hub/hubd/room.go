package hubd

import (
	"context"
	"sync"
	"time"

	"flotilla/bus/disk"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/hub/door"
)

const (
	// lookEvery is how often the hub looks whether its server still stores, and how much room there is.
	lookEvery = time.Second
	// askEvery is how often the limits of the account are asked for on servers that others run.
	askEvery = 15 * time.Second
	// lastRestart is the longest pause between restarts of an embedded server that does not start.
	lastRestart = 3 * time.Second
	// settled is after how long without a restart the pauses begin anew.
	settled = time.Minute
)

// warden watches whether there is room to store more. It restarts an embedded server that has stopped for
// want of room, or for another error, once its folder can be written, and while nobody can lead it tells who asks why.
type warden struct {
	hub *Hub

	mu       sync.Mutex
	limited  disk.Room // of the account, on servers that others run
	stopped  *server.Standstill
	stalled  string
	told     string // what was logged last
	declined func() // ends the answers of a hub that cannot lead; nil while it gives none

	asked, tried time.Time
	pause        time.Duration
}

// startWarden looks until the hub stops.
func (h *Hub) startWarden(context.Context) (func(bool), error) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { h.warden.run(ctx) })
	return func(bool) { cancel(); watching.Wait() }, nil
}

func (w *warden) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			w.decline(false)
			return
		case <-tick.C:
		}
	}
}

// look looks once, and acts on what it sees.
func (w *warden) look(ctx context.Context) {
	if w.hub.server != nil {
		w.set(w.hub.server.Standstill(), "")
	} else {
		w.ask(ctx)
		w.set(nil, w.hub.conn.Stalled(ctx))
	}
	w.hub.watchWays()
	w.hub.watchServers()
	room := w.room()
	w.tell(room)
	if room.Stopped != "" && room.Restarts && !room.Short() {
		w.restart()
	}
	leading, _ := w.hub.store()
	w.decline(leading == nil && (room.Stopped != "" && room.Restarts || w.hub.conn.LeaseStalled()))
}

func (w *warden) set(stopped *server.Standstill, stalled string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped, w.stalled = stopped, stalled
}

// ask asks for the limits of the account once in a while. What cannot be read limits nothing.
func (w *warden) ask(ctx context.Context) {
	if !w.hub.conn.NC.IsConnected() || w.hub.conn.Now().Sub(w.asked) < askEvery {
		return
	}
	w.asked = w.hub.conn.Now()
	ctx, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	limited, err := w.hub.conn.AccountRoom(ctx, w.hub.options.Disk.Reserve)
	if err != nil {
		w.hub.options.Log.Debug().Err(err).Msg("looking for room")
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limited = limited
}

// room is the room of this moment.
func (w *warden) room() disk.Room {
	w.mu.Lock()
	limited, stopped, stalled := w.limited, w.stopped, w.stalled
	w.mu.Unlock()
	if w.hub.server == nil {
		limited.Stopped = stalled
		return limited
	}
	room, err := disk.RoomIn(w.hub.server.Dir(), w.hub.options.Disk.Reserve, w.hub.options.Disk.Statfs)
	if err != nil {
		room.Where = w.hub.server.Dir()
		w.hub.options.Log.Debug().Err(err).Msg("looking for room")
	}
	room.Own = true
	if stopped != nil {
		room.Stopped, room.Restarts = stopped.Reason, stopped.Restart
	}
	return room
}

// tell logs what is wrong with the room, once, and when it is over.
func (w *warden) tell(room disk.Room) {
	told, log := "", w.hub.options.Log
	switch failure := door.NoRoom(room); {
	case failure == nil:
	case room.Stopped != "":
		told = "stopped"
	default:
		told = "short"
	}
	if told == w.told {
		return
	}
	w.told = told
	switch told {
	case "":
		log.Info().Str("where", room.Where).Msg("there is room again")
	default:
		log.Error().Msg(door.NoRoom(room).Message)
	}
}

// restart starts a server that stopped anew, with growing pauses while it does not start.
func (w *warden) restart() {
	since := w.hub.conn.Now().Sub(w.tried)
	if since < w.pause || disk.Writable(w.hub.server.Dir()) != nil {
		return
	}
	if since > settled {
		w.pause = 0
	}
	w.hub.options.Log.Warn().Msg("its folder can be written: restarting the NATS server")
	err := w.hub.server.Restart()
	w.tried, w.pause = w.hub.conn.Now(), min(max(2*w.pause, lookEvery), lastRestart)
	if err != nil {
		w.hub.options.Log.Error().Err(err).Dur("pause", w.pause).Msg("trying again")
		return
	}
	w.set(w.hub.server.Standstill(), "")
}

// decline begins or ends to answer requests with why there is no hub that leads.
func (w *warden) decline(on bool) {
	if on == (w.declined != nil) {
		return
	}
	if !on {
		w.declined()
		w.declined = nil
		return
	}
	stop, err := w.hub.conn.Decline(func() *api.Failure {
		if failure := door.NoRoom(w.room()); failure != nil {
			return failure
		}
		return &api.Failure{Code: api.CodeUnavailable, Message: "the hub begins to lead: ask again"}
	})
	if err != nil {
		w.hub.options.Log.Debug().Err(err).Msg("telling that there is no room")
		return
	}
	w.declined = stop
}
