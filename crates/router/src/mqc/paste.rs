//! Commands that apply changes in a session: each changed line, after the commands that open its mode.

use super::reader::{Mode, Reader};
use std::collections::BTreeSet;

/// Returns commands for a session in configuration mode that enter the changed lines of a configuration. `changed` has
/// the numbers of these lines in `text`, from 1. Lines of one class follow its `policy-map` and `class` lines, those of
/// an interface its `interface` line.
pub fn paste(text: &str, changed: &BTreeSet<u32>) -> String {
    let mut reader = Reader::default();
    // The open modes, the outermost first, each with the index of the line that opened it.
    let mut open: Vec<(Mode, usize)> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut entered: Vec<usize> = Vec::new();
    let mut out = String::new();
    let mut policer_mode: Option<Mode> = None;
    for (index, line) in lines.iter().enumerate() {
        let before = reader.mode.clone();
        reader.line(line, u32::try_from(index + 1).unwrap_or(u32::MAX));
        let after = reader.mode.clone();
        if after != before {
            // Closes the modes that do not enclose the current one.
            let mut outer = Some(after.clone());
            let mut around = Vec::new();
            while let Some(mode) = outer {
                outer = mode.outer();
                around.push(mode);
            }
            open.retain(|(mode, _)| around.contains(mode) && *mode != after);
            open.push((after.clone(), index));
        }
        // The lines with the actions of a changed policer are repeated, since `police` resets them.
        let follows = policer_mode.as_ref() == Some(&after) && matches!(after, Mode::Police(..));
        let is_changed = changed.contains(&(u32::try_from(index + 1).unwrap_or(u32::MAX)));
        if !is_changed && !follows {
            policer_mode = policer_mode.filter(|mode| *mode == after);
            continue;
        }
        for (_, opener) in &open {
            if !entered.contains(opener) && *opener != index {
                // A mode that has been left since must be entered again.
                let is_open = |opener: &usize| open.iter().any(|(_, own)| own == opener);
                entered.retain(is_open);
                out.push_str(lines.get(*opener).unwrap_or(&"").trim_end());
                out.push('\n');
                entered.push(*opener);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
        // The line may open a mode itself.
        entered.push(index);
        policer_mode = matches!(after, Mode::Police(..)).then_some(after);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_follows_the_commands_that_open_its_mode() {
        let text = "policy-map P\n class A\n  police cir 100000\n   exceed-action drop\n class B\n  bandwidth 10\n  queue-limit 5\n\
                    interface Serial0/0\n ip address 10.0.0.1 255.0.0.0\n tx-ring-limit 3\n";
        assert_eq!(paste(text, &BTreeSet::from([7])), "policy-map P\n class B\n  queue-limit 5\n");
        assert_eq!(
            paste(text, &BTreeSet::from([3, 6, 10])),
            "policy-map P\n class A\n  police cir 100000\n   exceed-action drop\n class B\n  bandwidth 10\n\
             interface Serial0/0\n tx-ring-limit 3\n"
        );
    }
}
