package orchestration_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// happen is what comes over a member from outside.
func (w *world) happen(l *land) {
	if w.faults.crashes {
		w.crashAgent(l)
	}
	if w.faults.updates {
		w.update(l)
	}
	if w.faults.people && w.luck.Chance(12) {
		w.meddle(l)
	}
}

func (w *world) crashAgent(l *land) {
	switch a := &l.agent; {
	case a.up && w.luck.Chance(150):
		w.note("%s: the agent dies", l.name)
		a.up = false
	case !a.up && w.luck.Chance(8):
		a.start()
	}
}

// update is a run of updates that takes the member for a while.
func (w *world) update(l *land) {
	switch owner := w.store.locks[l.name]; {
	case l.awaited && owner == "":
		l.awaited, w.store.locks[l.name] = false, "update run v"
	case owner == simOwner && w.luck.Chance(100):
		l.awaited = true
	case owner == "" && w.luck.Chance(150):
		w.store.locks[l.name] = "update run u"
	case owner != "" && owner != simOwner && w.luck.Chance(20):
		delete(w.store.locks, l.name)
	}
}

// meddle is one thing that persons or machines do.
func (w *world) meddle(l *land) {
	names := l.sorted()
	if len(names) == 0 {
		return
	}
	n := l.nodes[names[w.luck.Below(len(names))]]
	switch w.luck.Below(9) {
	case 0:
		if n.state.Managed && n.deleted.IsZero() {
			w.note("%s: somebody deletes node %s", l.name, n.state.Name)
			n.deleted = w.now
		}
	case 1:
		w.note("%s: machine %s dies", l.name, n.state.Name)
		l.vanish(n.state.Name)
	case 2:
		if n.ready.IsZero() {
			n.state.Ready = !n.state.Ready
		}
	case 3, 4:
		w.requests++
		l.pods = append(l.pods, w.drawPod(fmt.Sprintf("q%04d", w.requests)))
	case 5, 6:
		if len(l.pods) > 0 {
			p := l.pods[w.luck.Below(len(l.pods))]
			if p.state.Terminating {
				return
			}
			p.state.Owner = "" // it does not come back
			l.terminate(p, 10*time.Second, w.now)
		}
	case 7:
		if len(l.pods) > 0 {
			p := l.pods[w.luck.Below(len(l.pods))]
			p.state.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "5m"}
		}
	case 8:
		if p := w.pools[2]; w.luck.Chance(30) && p.DeletionTimestamp == nil {
			w.note("somebody deletes pool c")
			p.DeletionTimestamp = &metav1.Time{Time: w.now}
			w.parse()
		}
	}
}
