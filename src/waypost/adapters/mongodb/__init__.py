"""The import side on MongoDB: a replica set, because transactions and change streams need one."""
