console.error('quotadb: nothing here yet');
