//! Plain tables for people: columns padded to their widest cell.

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows under headings.
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

/// Text and, on a terminal, the colour it is shown in.
pub struct Cell {
    text: String,
    colour: Option<Colour>,
}

/// The few colours tables use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// As it should be.
    Green,
    /// Worth a look.
    Yellow,
    /// Broken.
    Red,
}

impl Colour {
    fn escape(self) -> &'static str {
        match self {
            Colour::Green => "\x1b[32m",
            Colour::Yellow => "\x1b[33m",
            Colour::Red => "\x1b[31m",
        }
    }
}

impl Cell {
    /// A cell in the terminal's own colour.
    pub fn plain(text: impl ToString) -> Cell {
        Cell {
            text: text.to_string(),
            colour: None,
        }
    }

    /// A cell in a colour.
    pub fn coloured(text: impl ToString, colour: Colour) -> Cell {
        Cell {
            text: text.to_string(),
            colour: Some(colour),
        }
    }
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: &[(&'static str, Align)]) -> Table {
        Table {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells beyond the columns are left out.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The table as text, each line ended by a newline.
    pub fn render(&self, coloured: bool) -> String {
        let width = |index: usize, heading: &str| {
            let cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(index))
                .map(|cell| cell.text.chars().count());
            cells.chain([heading.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, (heading, _))| width(i, heading))
            .collect();
        let headings: Vec<Cell> = self
            .columns
            .iter()
            .map(|(heading, _)| Cell::plain(heading))
            .collect();
        let mut text = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align)), width) in row.iter().zip(&self.columns).zip(&widths) {
                let padding = " ".repeat(width.saturating_sub(cell.text.chars().count()));
                let shown = match cell.colour {
                    Some(colour) if coloured => format!("{}{}\x1b[0m", colour.escape(), cell.text),
                    _ => cell.text.clone(),
                };
                if !line.is_empty() {
                    line.push_str("  ");
                }
                match align {
                    Align::Left => line.extend([shown, padding]),
                    Align::Right => line.extend([padding, shown]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
