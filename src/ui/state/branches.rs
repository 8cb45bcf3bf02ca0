//! The branches of a lesson's free play: runs that begin like another run and continue differently.

use crate::log::Log;

#[derive(Debug, Clone, Default)]
pub struct Branches {
    /// The first one is the run that was opened.
    all: Vec<Branch>,
    current: usize,
}

/// A run, and the run from which it branches.
#[derive(Debug, Clone, Default)]
pub struct Branch {
    /// The branch from which it branches; `None` for the first.
    pub parent: Option<usize>,
    /// The number of choices and lines of the story that it shares with its parent.
    pub shared: usize,
    /// Empty for the current branch, whose log is that of the run.
    log: Log,
    /// Whether it was left with choices that are in no file.
    unsaved: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub branch: usize,
    pub depth: usize,
    pub shared: usize,
    pub log: &'a Log,
    /// Whether it is the run on the screen.
    pub current: bool,
}

impl Branches {
    /// The number of branches; 0 before the first branching.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Makes a new branch the current one. It shares `shared` steps with the run on the screen, whose log is kept.
    pub fn add(&mut self, kept: Log, shared: usize, unsaved: bool) {
        if self.all.is_empty() {
            self.all.push(Branch::default());
        }
        self.leave(kept, unsaved);
        // Steps before the place where a branch begins belong to an ancestor.
        let mut parent = self.current;
        while let Some(before) = self.all[parent].parent.filter(|_| shared < self.all[parent].shared) {
            parent = before;
        }
        self.all.push(Branch { parent: Some(parent), shared, log: Log::new(), unsaved: false });
        self.current = self.all.len() - 1;
    }

    /// Makes another branch the current one and keeps the log of the old one. Returns the other branch's log.
    pub fn switch(&mut self, kept: Log, to: usize, unsaved: bool) -> Option<&Log> {
        if to == self.current || to >= self.all.len() {
            return None;
        }
        self.leave(kept, unsaved);
        self.current = to;
        Some(&self.all[to].log)
    }

    fn leave(&mut self, kept: Log, unsaved: bool) {
        let left = &mut self.all[self.current];
        (left.log, left.unsaved) = (kept, unsaved);
    }

    /// Whether a branch that is not on the screen has choices that are in no file.
    pub fn others_unsaved(&self) -> bool {
        self.all.iter().enumerate().any(|(n, branch)| n != self.current && branch.unsaved)
    }

    /// The tree in depth-first order. `live` is the log of the run on the screen.
    pub fn rows<'a>(&'a self, live: &'a Log) -> Vec<Row<'a>> {
        let mut rows = Vec::with_capacity(self.all.len());
        if !self.all.is_empty() {
            self.rows_from(0, 0, live, &mut rows);
        }
        rows
    }

    fn rows_from<'a>(&'a self, branch: usize, depth: usize, live: &'a Log, rows: &mut Vec<Row<'a>>) {
        let current = branch == self.current;
        rows.push(Row {
            branch,
            depth,
            shared: self.all[branch].shared,
            log: if current { live } else { &self.all[branch].log },
            current,
        });
        for (child, _) in self.all.iter().enumerate().filter(|(_, b)| b.parent == Some(branch)) {
            self.rows_from(child, depth + 1, live, rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Branches;
    use crate::log::Log;

    fn tree(branches: &Branches) -> Vec<(usize, usize, usize, bool)> {
        let live = Log::new();
        let rows = branches.rows(&live);
        rows.iter().map(|row| (row.branch, row.depth, row.shared, row.current)).collect()
    }

    #[test]
    fn the_parent_of_a_branch_is_the_run_whose_steps_it_shares() {
        let mut branches = Branches::default();
        assert!(branches.is_empty() && tree(&branches).is_empty());
        branches.add(Log::new(), 4, false);
        assert_eq!(tree(&branches), [(0, 0, 0, false), (1, 1, 4, true)]);
        branches.add(Log::new(), 6, false);
        // The third branch shares only three steps, which belong to the first run.
        branches.add(Log::new(), 3, false);
        assert_eq!(tree(&branches), [(0, 0, 0, false), (1, 1, 4, false), (2, 2, 6, false), (3, 1, 3, true)]);
    }

    #[test]
    fn the_run_on_the_screen_can_be_switched() {
        let mut branches = Branches::default();
        assert!(branches.switch(Log::new(), 0, false).is_none(), "there is none");
        branches.add(Log::new(), 1, false);
        assert!(branches.switch(Log::new(), 1, false).is_none(), "it is there already");
        assert!(branches.switch(Log::new(), 0, false).is_some());
        assert_eq!(tree(&branches), [(0, 0, 0, true), (1, 1, 1, false)]);
        branches.add(Log::new(), 0, false);
        assert_eq!(branches.len(), 3);
        assert_eq!(tree(&branches)[2], (2, 1, 0, true));
    }

    #[test]
    fn what_is_in_no_file_is_known_of_branches_that_were_left() {
        let mut branches = Branches::default();
        branches.add(Log::new(), 1, true);
        assert!(branches.others_unsaved(), "the first run");
        branches.switch(Log::new(), 0, false);
        assert!(!branches.others_unsaved(), "the first run is on the screen again");
        branches.switch(Log::new(), 1, true);
        assert!(branches.others_unsaved());
    }
}
