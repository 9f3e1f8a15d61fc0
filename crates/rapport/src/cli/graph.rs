//! Draws a tree as a graph beside its nodes, the newest first, as version control draws history: one node per row,
//! branches in parallel columns, joined below at their origin.

/// A row of the graph.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// The node, with the lines before and after its column.
    Node {
        /// The index of the node.
        node: usize,
        /// The columns before its own, `│ │ `.
        before: String,
        /// The columns after its own, `│ `.
        after: String,
    },
    /// Branches join: `├─╯`.
    Joint(String),
}

/// Draws nodes, each of which is listed before (above) its parent: `follows` has the index of the parent.
pub(super) fn rows(follows: &[Option<usize>]) -> Vec<Row> {
    // For each column, the node that its line leads to.
    let mut columns: Vec<Option<usize>> = Vec::new();
    let mut rows = Vec::new();
    for (node, origin) in follows.iter().enumerate() {
        let column = columns.iter().position(|to| *to == Some(node));
        let column = column.or_else(|| columns.iter().position(Option::is_none)).unwrap_or(columns.len());
        columns.resize(columns.len().max(column + 1), None);
        let line = |to: &Option<usize>| if to.is_some() { "│ " } else { "  " };
        let (before, after) = (columns[..column].iter(), columns[column + 1..].iter());
        rows.push(Row::Node { node, before: before.map(line).collect(), after: after.map(line).collect() });
        columns[column] = None;
        let Some(origin) = *origin else {
            trim(&mut columns);
            continue;
        };
        match columns.iter().position(|to| *to == Some(origin)) {
            None => columns[column] = Some(origin),
            Some(other) => {
                let (left, right) = (column.min(other), column.max(other));
                columns[left] = Some(origin);
                columns[right] = None;
                rows.push(Row::Joint(joint(&columns, left, right)));
            }
        }
        trim(&mut columns);
    }
    rows
}

fn trim(columns: &mut Vec<Option<usize>>) {
    while columns.last() == Some(&None) {
        columns.pop();
    }
}

/// The line in the right column ends in the left one; others cross it.
fn joint(columns: &[Option<usize>], left: usize, right: usize) -> String {
    let drawn = columns.iter().enumerate().map(|(column, to)| match (column, to) {
        (column, _) if column == left => "├─",
        (column, _) if column == right => "╯ ",
        (column, Some(_)) if left < column && column < right => "┼─",
        (column, None) if left < column && column < right => "──",
        (_, Some(_)) => "│ ",
        (_, None) => "  ",
    });
    drawn.collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(follows: &[Option<usize>], expected: &str) {
        let drawn = rows(follows).into_iter().map(|row| match row {
            Row::Node { node, before, after } => {
                format!("{before}○ {after}").trim_end().to_owned() + &format!(" {node}")
            }
            Row::Joint(joint) => joint,
        });
        assert_eq!(drawn.collect::<Vec<_>>().join("\n"), expected);
    }

    #[test]
    fn a_line_of_nodes_is_a_line() {
        check(&[Some(1), Some(2), None], "○ 0\n○ 1\n○ 2");
    }

    #[test]
    fn roots_stand_apart() {
        check(&[None, Some(2), None], "○ 0\n○ 1\n○ 2");
    }

    #[test]
    fn branches_join_where_they_came_from() {
        check(&[Some(3), Some(2), Some(3), None], "○ 0\n│ ○ 1\n│ ○ 2\n├─╯\n○ 3");
        check(&[Some(3), Some(3), Some(3), None], "○ 0\n│ ○ 1\n├─╯\n│ ○ 2\n├─╯\n○ 3");
        check(&[Some(4), Some(3), Some(4), Some(4), None], "○ 0\n│ ○ 1\n│ │ ○ 2\n├─┼─╯\n│ ○ 3\n├─╯\n○ 4");
    }
}
