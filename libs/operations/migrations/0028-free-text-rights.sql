-- Roles that insert free text may execute the functions that check it: the condition of a trigger runs with the rights of the caller.

grant execute on function has_forbidden_character(text), has_forbidden_character(jsonb) to banking_app, banking_provisioning;
