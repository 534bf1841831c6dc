//! The commands that apply a change in a session: each changed line after the commands that open its mode.

use super::reader::{Mode, Reader};
use std::collections::BTreeSet;

/// Returns the commands for a session in configuration mode: `changed` are lines of `text`, from 1. Lines of one class
/// are grouped after `policy-map` and `class`, those of an interface after `interface`.
pub fn paste(text: &str, changed: &BTreeSet<u32>) -> String {
    let mut reader = Reader::default();
    // Per line: the mode of its command, and the lines that opened that mode and the enclosing ones.
    let mut open: Vec<(Mode, usize)> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut typed: Vec<usize> = Vec::new();
    let mut out = String::new();
    let mut within: Option<Mode> = None;
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
        // A policer whose rates change is repeated with its actions.
        let follows = within.as_ref() == Some(&after) && matches!(after, Mode::Police(..));
        let is_changed = changed.contains(&(u32::try_from(index + 1).unwrap_or(u32::MAX)));
        if !is_changed && !follows {
            within = within.filter(|mode| *mode == after);
            continue;
        }
        for (_, opener) in &open {
            if !typed.contains(opener) && *opener != index {
                let is_sibling = |other: &usize| open.iter().any(|(_, own)| own == other);
                typed.retain(is_sibling);
                out.push_str(lines.get(*opener).unwrap_or(&"").trim_end());
                out.push('\n');
                typed.push(*opener);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
        // The line may open a mode itself.
        typed.push(index);
        within = matches!(after, Mode::Police(..)).then_some(after);
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
