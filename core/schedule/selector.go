package schedule

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/verdict"
)

// labelTest is one requirement on one label, answered by a look into a table of its values.
type labelTest struct {
	ids    []uint32 // the key's column; nil when no member carries the key
	accept []bool   // by value number; accept[0] answers for members without the key
}

func (t *labelTest) passes(row int) bool {
	if t.ids == nil {
		return t.accept[0]
	}
	return t.accept[t.ids[row]]
}

// observe returns the number of the value that the member carries, 0 for none.
func (t *labelTest) observe(row int) int32 {
	if t.ids == nil {
		return 0
	}
	return int32(t.ids[row])
}

// labelTests prepares the requirements of a selector, sorted labels first, and says what each wants.
// Nil and empty selectors have none and match every member.
func (f *Fleet) labelTests(s *metav1.LabelSelector) ([]labelTest, []verdict.Want) {
	if s == nil {
		return nil, nil
	}
	n := len(s.MatchLabels) + len(s.MatchExpressions)
	tests, wants := make([]labelTest, 0, n), make([]verdict.Want, 0, n)
	for _, key := range sortedKeys(s.MatchLabels) {
		values, c := []string{s.MatchLabels[key]}, f.label(key)
		tests = append(tests, c.labelTest(metav1.LabelSelectorOpIn, values))
		wants = append(wants, c.labelWant(key, strconv.Quote(values[0])))
	}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		c := f.label(e.Key)
		tests = append(tests, c.labelTest(e.Operator, e.Values))
		wants = append(wants, c.labelWant(e.Key, wantedLabel(e)))
	}
	return tests, wants
}

// labelWant says what is wanted of a label with this column, nil when no member carries it.
func (c *column) labelWant(key, wanted string) verdict.Want {
	want := verdict.Want{Kind: verdict.WantLabel, Subject: key, Wanted: wanted}
	if c != nil {
		want.Values = c.values
	}
	return want
}

// labelTest prepares a requirement on a label with this column, nil when no member carries it.
func (c *column) labelTest(operator metav1.LabelSelectorOperator, values []string) labelTest {
	t := labelTest{accept: make([]bool, 1)}
	if c != nil {
		t.ids = c.ids
		t.accept = make([]bool, len(c.values))
	}
	if operator == metav1.LabelSelectorOpNotIn || operator == metav1.LabelSelectorOpDoesNotExist {
		t.accept[0] = true
	}
	if c == nil {
		return t
	}
	if operator == metav1.LabelSelectorOpExists || operator == metav1.LabelSelectorOpNotIn {
		for id := 1; id < len(t.accept); id++ {
			t.accept[id] = true
		}
	}
	if operator == metav1.LabelSelectorOpIn || operator == metav1.LabelSelectorOpNotIn {
		for _, value := range values {
			if id, known := c.index[value]; known {
				t.accept[id] = operator == metav1.LabelSelectorOpIn
			}
		}
	}
	return t
}

func wantedLabel(e *metav1.LabelSelectorRequirement) string {
	switch e.Operator {
	case metav1.LabelSelectorOpExists:
		return "any value"
	case metav1.LabelSelectorOpDoesNotExist:
		return "absent"
	}
	return string(e.Operator) + " (" + strings.Join(e.Values, ", ") + ")"
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return slices.Clip(keys)
}
