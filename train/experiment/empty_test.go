package experiment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A store that was opened and killed before its first record leaves no empty file of results.
func TestStore_LeavesNoEmptyFile(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(filepath.Join(dir, ResultsFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file of results: %v", err)
	}
}
