import "os"
func believes(what, lock string) { os.Stdout.WriteString(what + " " + lock + "\n") } // "HOLDS", "SHARES", "WAITS" or "DROPS"
