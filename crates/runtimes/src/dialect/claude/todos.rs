//! The agent's todo list, as ACP's plan.
//!
//! Some tools set the whole list, others make and change single tasks; both become one plan.
//! A change counts when the tool's result confirms it.

use serde_json::{Value, json};

use crate::tools;
use crate::update::PlanEntry;

#[derive(Debug, Default)]
pub(super) struct ClaudeTodos {
    /// Tasks that were made one by one, each with its id.
    tasks: Vec<(String, Value)>,
}

impl ClaudeTodos {
    /// Whether this tool only changes or reads the list.
    pub(super) fn is_list(name: &str) -> bool {
        matches!(
            tools::plain_name(name).as_str(),
            "todowrite"
                | "todoread"
                | "writetodos"
                | "taskcreate"
                | "taskupdate"
                | "tasklist"
                | "taskget"
        )
    }

    /// The list after a call; `None` when that did not change it.
    pub(super) fn change(
        &mut self,
        name: &str,
        input: &Value,
        result: &Value,
        whole: &Value,
    ) -> Option<Vec<PlanEntry>> {
        match tools::plain_name(name).as_str() {
            "todowrite" | "writetodos" => return tools::plan_of(&input["todos"]),
            "taskcreate" => {
                let id = task_id(result, whole)?;
                let task = json!({ "subject": input["subject"], "status": "pending" });
                self.tasks.push((id, task));
            }
            "taskupdate" => {
                let id = input["taskId"].as_str()?;
                if whole["success"] == false {
                    return None;
                }
                if input["status"] == "deleted" {
                    self.tasks.retain(|(known, _)| known != id);
                } else {
                    let (_, task) = self.tasks.iter_mut().find(|(known, _)| known == id)?;
                    for member in ["status", "subject"] {
                        if input[member].is_string() {
                            task[member] = input[member].clone();
                        }
                    }
                }
            }
            _ => return None,
        }
        let tasks: Vec<Value> = self.tasks.iter().map(|(_, task)| task.clone()).collect();
        tools::plan_of(&Value::Array(tasks))
    }
}

/// The id of a new task: a member of its own, or in the text `Task #1 created successfully`.
fn task_id(result: &Value, whole: &Value) -> Option<String> {
    if let Some(id) = whole["task"]["id"].as_str() {
        return Some(id.to_owned());
    }
    let text = result["content"].as_str().or_else(|| result["content"][0]["text"].as_str())?;
    let (_, rest) = text.split_once('#')?;
    let id: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    (!id.is_empty()).then_some(id)
}
