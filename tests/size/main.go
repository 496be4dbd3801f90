// Command size counts what the programs are made of: tokens, lines, comments, functions, structs and packages. Test
// files, generated files and packages that only tests import do not count.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// Bounds of one package and one struct.
const (
	mostLines  = 3500
	mostFiles  = 40
	mostFields = 15
)

// excepted are packages that no bound holds for, and why.
var excepted = map[string]string{
	"flotilla/core/api": "one vocabulary, and objects and messages have the fields that they have",
	"flotilla/configs":  "a configuration has the fields that its file has",
}

// programs are the packages that are built into something.
var programs = []string{"flotilla/hub", "flotilla/agent", "flotilla/hub/flotilla"}

func main() {
	all := flag.Bool("all", false, "list every package, not only those above a bound")
	flag.Parse()
	if err := run(*all); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(all bool) error {
	listed, err := list(programs)
	if err != nil {
		return err
	}
	var whole counts
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "package\tfiles\tlines\ttokens\tcomments\t")
	for _, p := range listed {
		c, err := count(p)
		if err != nil {
			return err
		}
		whole.add(c)
		if all || c.lines > mostLines || c.files > mostFiles {
			row(table, p.ImportPath, c)
		}
	}
	row(table, "all", whole)
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%d packages; lines of a function: median %d, p95 %d; columns of a line: p95 %d\n",
		len(listed), quantile(whole.functions, 50), quantile(whole.functions, 95), quantile(whole.columns, 95))
	structs := slices.DeleteFunc(flattened(whole.structs), func(s wide) bool { return excepted[s.name[:strings.LastIndex(s.name, ".")]] != "" })
	fmt.Printf("structs above %d fields, with those of embedded structs, but for core/api and configs: %d\n", mostFields, len(structs))
	for _, s := range structs {
		fmt.Println(" ", s.name, s.fields)
	}
	return nil
}

func row(table *tabwriter.Writer, name string, c counts) {
	_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.1f %%\t\n", name, c.files, c.lines, c.tokens, 100*float64(c.comments)/float64(max(1, c.written)))
}

// quantile is the smallest value that so many percent are not above.
func quantile(values []int, percent int) int {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)*percent+99)/100-1]
}
