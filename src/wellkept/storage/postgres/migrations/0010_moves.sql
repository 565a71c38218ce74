-- Version 10: the database to which a namespace is being moved, which closes it to writers, and the one in which
-- it lives if it is not this one, which closes it to everybody.
ALTER TABLE wellkept.namespace ADD COLUMN moving text NOT NULL DEFAULT '', ADD COLUMN moved text NOT NULL DEFAULT '';
